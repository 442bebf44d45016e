// The error frame: REST's problem, without the `type` that here names the frame.
import { type RefusalAbout, toProblem } from '../../schemas/problem.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import { frameText } from '../../schemas/ws.ts'

export interface Refused extends RefusalAbout {
  /** Of the subscription the refused frame was about. */
  readonly id?: string | undefined
}

export function refusalFrame({ id, code, detail }: Refused, socketId: string): string {
  const { type: _, ...problem } = toProblem({ code, detail }, { instance: '/ws', requestId: socketId })
  return frameText({ type: 'error', ...(id === undefined ? {} : { id }), problem })
}

export function refusal(code: RefusalCode, message?: string, id?: string): Refused {
  return { code, detail: message === undefined ? {} : { message }, id }
}
