"""Facts about the parameters and fields of a page: types, ranges, defaults and conditions."""
