// How data lies in bytes, wherever the engine keeps or sends it.
import { Packr } from 'msgpackr'

/** One of its own for each use: it holds on to what it packs. */
export function newPackr(): Packr {
  // A field of a device's data may be called `toJSON`, and is data: it would be called, and is no function.
  return new Packr({ useRecords: false, useToJSON: false })
}
