// The encoding of data that the engine stores or sends.
import { Packr } from 'msgpackr'

/** Each user needs its own Packr, because a Packr keeps a reference to what it packs. */
export function newPackr(): Packr {
  // A device's data may contain a field called `toJSON`. It is data, and must not be called as a method.
  return new Packr({ useRecords: false, useToJSON: false })
}
