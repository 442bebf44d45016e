// A request that the engine does not allow, as a value.
import type { Refusal } from '../../schemas/refusals.ts'

export type EngineRefusal = Refusal
