// The encoding of data that the engine stores or sends.
import { Packr } from 'msgpackr'

/** Each use needs its own, because it keeps a reference to what it packs. */
export function newPackr(): Packr {
  // A device's data may have a field called `toJSON`, which must stay data and not be called.
  return new Packr({ useRecords: false, useToJSON: false })
}
