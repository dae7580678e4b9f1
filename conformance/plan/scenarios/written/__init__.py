"""Read the written scenarios: YAML files in this folder, each a list, and the scenarios of a dialect's own file.

    - id: stop-text
      summary: a stop string that the answer is known to contain
      needs: {parameters: [stop], capabilities: []}
      together: false
      steps:
        - {name: baseline, ask: Count from 1 to 9, body: {max_tokens: 32, temperature: 0}}
        - name: stopped
          ask: Count from 1 to 9
          body: {max_tokens: 32, temperature: 0}
          stop_from: {step: baseline, length: 4}

In a step, `ask` is short for one user message. `times: N` repeats it N times, and `pieces` lists the texts that it
consists of instead, each alone or in a list with the number of times that it is repeated. In `messages`, a part
`{media: NAME}` stands for a file of `conformance/plan/media`, in the form of the contract. `below: {name: N}` sets a
field to the list of the numbers from 0 to N - 1, or with `bias: B` to an object with B for each of them. `raw` (a
string) or `raw_hex` replaces the body. In a raw body `{model}` stands for the model, `{model-cut}` for its name without
the last character, `{model-swapped}` for its name in the other case, `deep: N` appends N nested lists, and `blanks: N`
prepends N spaces. `continues: STEP` puts the messages of an earlier step and the message of its answer in front of
those of the step; of these, a message of the role `tool` without an id is sent for each call. `form` changes how the
body is serialized. `cookie_bytes: N` adds a cookie of N bytes.

Some keys adapt a scenario to the dialect. `prune: true` leaves out fields that the contract does not have or the server
does not support, and nulls that it does not accept, but never `stream: true`. `defaults` lists parameters that are sent
with the default of the contract, unless it depends on the configuration. A step whose `needs`, a list of parameters,
are not all supported is left out, and so is a step that uses a parameter which the server lacks, unless it expects a
refusal. A step with `only_for: CHECK` is left out where the dialect does not have that requirement. A step with
`thorough: true` is only sent at that depth, since others show nearly the same. `fitting.py` holds the remaining steps
against the contract.

With `rounds: 8` the steps are sent up to eight times, until every trial is decided. Steps with `once: true` are sent
once, before the rounds; `vary` lists the values of fields, or of `ask`, one for each round. A step that varies beyond
the maximum of a parameter is left out. The steps of a scenario with `alone: true` are sent one after another, and no
other request is sent meanwhile: a server that keeps state of one request may use it in the next.

`copies: N` sends a step N times, as parts of that name: `-1`, `-2` and so on are added to it. `crowd: N` sends N more,
all at the same time as those of the other steps, after everything else (`-crowd-1` and so on). The rounds of a scenario
with `spread: true` are spread over the run.
"""
