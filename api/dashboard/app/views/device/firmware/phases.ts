import type { JobBody } from '../../../../../../schemas/deployment.ts'

const PHASES = [
  'notified',
  'downloading',
  'downloaded',
  'installing',
  'rebooting',
  'confirming',
  'finished',
] as const

export interface Phase {
  readonly name: (typeof PHASES)[number]
  readonly at: number
  /** The time since the phase before. */
  readonly tookMs: number | undefined
}

/** The phases that the device reported, in order. Those it never reported are left out. */
export function phasesOf(job: Pick<JobBody, `${(typeof PHASES)[number]}_at`>): readonly Phase[] {
  let before: number | undefined
  return PHASES.flatMap((name) => {
    const text = job[`${name}_at`]
    if (text === null) return []
    const at = Date.parse(text)
    const phase = { name, at, tookMs: before === undefined ? undefined : at - before }
    before = at
    return [phase]
  })
}
