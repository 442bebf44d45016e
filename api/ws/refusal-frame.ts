// The error frame: a REST problem without its `type`, because the frame uses that name itself.
import { type RefusalAbout, toProblem } from '../../schemas/problem.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import { frameText } from '../../schemas/ws.ts'

export interface SocketRefusal extends RefusalAbout {
  /** Id of the subscription that the refused frame was about. */
  readonly id?: string | undefined
}

export function refusalFrame({ id, code, detail }: SocketRefusal, socketId: string): string {
  const { type: _, ...problem } = toProblem({ code, detail }, { instance: '/ws', requestId: socketId })
  return frameText({ type: 'error', ...(id === undefined ? {} : { id }), problem })
}

export function refusal(code: RefusalCode, message?: string, id?: string): SocketRefusal {
  return { code, detail: message === undefined ? {} : { message }, id }
}
