import type { EngineRefusal } from '../ports/engine-refusal.ts'

export function refused(code: EngineRefusal['code'], detail: EngineRefusal['detail']): EngineRefusal {
  return { kind: 'refused', code, detail }
}
