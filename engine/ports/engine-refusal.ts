// A request that the engine does not allow, as a value.
import type { RefusalCode } from '../../schemas/refusals.ts'

export interface EngineRefusal {
  readonly kind: 'refused'
  readonly code: RefusalCode
  readonly detail: Readonly<Record<string, unknown>>
}
