// Carries out the planned faults and undoes them.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault, Faultable, FaultKind } from './faults.ts'
import type { FaultNote, Recorder } from './recording.ts'

export interface Target extends Faultable {
  inflict(kind: FaultKind): Promise<void>
  /** Resolves once the part has recovered or is recovering. */
  heal(kind: FaultKind): Promise<void>
  /** False while it is not back from an earlier fault. */
  readonly isReady?: boolean
}

/** On a busy machine a process would be killed again before it is back, each time, and nothing else would be tested. So a fault
 *  is left out if its target is not back, except for one in so many. */
const MERCILESS_EVERY = 3

export interface NemesisOptions {
  readonly plan: readonly Fault[]
  readonly targets: readonly Target[]
  readonly recorder: Recorder
  readonly say: (text: string) => void
}

/** Resolves once all faults are undone. */
export async function haunt({ plan, targets, recorder, say }: NemesisOptions): Promise<void> {
  const startedAt = performance.now()
  // On a busy machine a fault may last until the next one of its target was to begin.
  const afflicted = new Set<string>()
  const since = () => performance.now() - startedAt
  await Promise.all(
    plan.map(async ({ atMs, target: name, kind, forMs }, i) => {
      const target = targets.find((each) => each.name === name)
      if (target === undefined) throw new Error(`there is no ${name}`)
      await sleep(Math.max(0, atMs - since()))
      if (i % MERCILESS_EVERY !== 0 && target.isReady === false) return
      if (afflicted.has(name)) return
      afflicted.add(name)
      say(`${kind} ${name} for ${forMs} ms`)
      const note: FaultNote = { target: name, kind, from: recorder.now() }
      recorder.faults.push(note)
      await target.inflict(kind)
      await sleep(forMs)
      await target.heal(kind)
      note.to = recorder.now()
      afflicted.delete(name)
    }),
  )
}
