// Messages between nodes, as bytes. Each begins with a version, so that nodes of two releases do not misread each other.
import { newPackr } from '../domain/packing.ts'
import { Fault } from '../ports/fault.ts'

/** Incremented with every change that an earlier release would misread. */
export const WIRE_VERSION = 5

// Device data may have a field called `toJSON`, which must stay data.
const packr = newPackr()

export function pack(value: object): Uint8Array {
  const body = packr.pack(value)
  const bytes = new Uint8Array(1 + body.length)
  bytes[0] = WIRE_VERSION
  bytes.set(body, 1)
  return bytes
}

/** Throws a `NODE_FAILED` fault for bytes that this release does not understand. */
export function unpack(bytes: Uint8Array): unknown {
  const [version] = bytes
  if (version !== WIRE_VERSION)
    throw unreadable(`it speaks version ${version} of what nodes say to each other, not ${WIRE_VERSION}`)
  try {
    return packr.unpack(bytes.subarray(1))
  } catch (error) {
    throw unreadable('what it says cannot be read', error)
  }
}

function unreadable(why: string, cause?: unknown): Fault {
  return new Fault('NODE_FAILED', { retryable: false, message: `another node: ${why}`, cause })
}
