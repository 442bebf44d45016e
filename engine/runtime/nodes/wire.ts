// Work and its outcome between nodes. A fault is an outcome like any other, so the asking node gets it as it was.
import { FAULT_CODES, Fault, type FaultCode } from '../../ports/fault.ts'
import type { Mesh } from '../../ports/mesh.ts'
import { pack, unpack } from '../versioned.ts'
import type { NodeOutcomes, NodeWork, OutcomeOf } from './work.ts'

type Outcome = NodeOutcomes[keyof NodeOutcomes]
type WorkReply =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  | {
      readonly kind: 'failed'
      readonly code: string
      readonly retryable: boolean
      readonly message: string
    }

/** Has another node do the work. Throws the fault that the work ended with there, or a fault of the mesh. */
export async function askNode<Work extends NodeWork>(
  mesh: Pick<Mesh, 'ask'>,
  work: Work,
  { address, timeoutMs }: { readonly address: string; readonly timeoutMs: number },
): Promise<OutcomeOf<Work>> {
  // Written by `serveNode`.
  const reply = unpack(await mesh.ask(address, pack(work), timeoutMs)) as WorkReply
  // The outcome has the type that belongs to this kind of work.
  if (reply.kind === 'done') return reply.outcome as OutcomeOf<Work>
  const { code, retryable, message } = reply
  throw new Fault(isFaultCode(code) ? code : 'NODE_FAILED', { retryable, message })
}

/** Does the work that other nodes ask for. An error that is not a `Fault` reaches them as `NODE_FAILED`. */
export function serveNode(mesh: Pick<Mesh, 'serve'>, perform: (work: NodeWork) => Promise<Outcome>): void {
  mesh.serve(async (question) => {
    try {
      // Written by `askNode`.
      const work = unpack(question) as NodeWork
      return packReply({ kind: 'done', outcome: await perform(work) })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const { code, retryable, message } = error
      return packReply({ kind: 'failed', code, retryable, message })
    }
  })
}

const packReply = (reply: WorkReply): Uint8Array => pack(reply)

function isFaultCode(code: string): code is FaultCode {
  // `includes` wants a code, but any text may be looked up.
  return (FAULT_CODES as readonly string[]).includes(code)
}
