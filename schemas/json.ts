// JSON as a value nobody changes: what bodies, payloads, records and frames are made of.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }
