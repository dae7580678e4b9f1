// Run the cases of a client and print one JSON line for each.
export const MODEL = process.env.MODEL;
export const COUNT = "Count from 1 to 5";
export const WEATHER = "What is the weather in Rome?";
export const TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Report the weather in a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

export async function run(cases) {
  for (const [name, body] of Object.entries(cases)) {
    try {
      await body();
      console.log(JSON.stringify({ case: name, ok: true }));
    } catch (error) {
      const detail = `${error?.name}: ${error?.message}`.replace(/\s+/g, " ").slice(0, 300);
      console.log(JSON.stringify({ case: name, ok: false, detail }));
    }
  }
}
