// Work and its outcome on their way between nodes, as bytes. A fault is an outcome like others: the asker gets it as it
// was. Each message begins with the version of this format, so that nodes of two releases do not misread each other.
import { Packr } from 'msgpackr'
import { FAULT_CODES, Fault, type FaultCode } from '../../ports/fault.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { NodeOutcomes, NodeWork, OutcomeOf } from './work.ts'

/** Grows with every change that an earlier release would misread. */
export const WIRE_VERSION = 1

type Outcome = NodeOutcomes[keyof NodeOutcomes]
type Answered =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  | {
      readonly kind: 'failed'
      readonly code: string
      readonly retryable: boolean
      readonly message: string
    }

// A field of a device's data may be called `toJSON`, and is data.
const packr = new Packr({ useRecords: false, useToJSON: false })

/** Has another node do it. Throws the fault that it ended with there, or the mesh's. */
export async function askNode<Work extends NodeWork>(
  mesh: Pick<Mesh, 'ask'>,
  work: Work,
  { address, timeoutMs }: { readonly address: string; readonly timeoutMs: number },
): Promise<OutcomeOf<Work>> {
  // Written by serveNode.
  const answered = unpack(await mesh.ask(address, pack(work), timeoutMs)) as Answered
  // What this kind of work comes back with.
  if (answered.kind === 'done') return answered.outcome as OutcomeOf<Work>
  const { code, retryable, message } = answered
  throw new Fault(isFaultCode(code) ? code : 'NODE_FAILED', { retryable, message })
}

/** Does what the others ask for. What is not a `Fault` reaches them as `NODE_FAILED`. */
export function serveNode(mesh: Pick<Mesh, 'serve'>, perform: (work: NodeWork) => Promise<Outcome>): void {
  mesh.serve(async (question) => {
    try {
      // Written by askNode.
      const work = unpack(question) as NodeWork
      return pack({ kind: 'done', outcome: await perform(work) })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const { code, retryable, message } = error
      return pack({ kind: 'failed', code, retryable, message })
    }
  })
}

function pack(value: NodeWork | Answered): Uint8Array {
  const body = packr.pack(value)
  const bytes = new Uint8Array(1 + body.length)
  bytes[0] = WIRE_VERSION
  bytes.set(body, 1)
  return bytes
}

function unpack(bytes: Uint8Array): unknown {
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

function isFaultCode(code: string): code is FaultCode {
  // Any text may be looked up.
  return (FAULT_CODES as readonly string[]).includes(code)
}
