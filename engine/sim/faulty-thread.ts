// A shard's thread that sometimes dies before a task, or after it so that the result is lost. A poisonous message always
// kills it. It may also hang.
import { ITEM, type Item, readItems } from '../domain/bundle.ts'
import { Fault } from '../ports/fault.ts'
import type { Entry } from '../ports/log.ts'
import { inlineThread, type ShardThread } from '../runtime/runner/thread.ts'
import { begin, enterEntry, type Progress } from '../runtime/shard/progress.ts'
import { type FaultContext, mayDie } from './faults.ts'

export const POISON = '{"poison":true}'
/** The limit is low, so that sweeps are cut into several tasks and processes die in between. */
const DUE_DEVICES_PER_TASK_MAX = 2

export function openFaultyThread(
  settings: Parameters<typeof inlineThread>[0],
  context: FaultContext,
): ShardThread {
  const { progress } = settings
  const thread = inlineThread({ ...settings, dueDevicesPerTaskMax: DUE_DEVICES_PER_TASK_MAX }, () => 0)
  const { dice, luck, trace } = context
  let end: ((fault: Fault) => void) | undefined
  const lost = (how: string) => {
    trace(`shard ${how}`)
    return new Fault('SHARD_LOST', { retryable: true, message: how })
  }
  return {
    async run(task) {
      if (task.kind === 'load') return thread.run(task)
      if (dice.chance(luck().shardHangs)) {
        trace('shard hangs')
        return new Promise((_, reject) => {
          end = reject
        })
      }
      // A task that only answers questions often runs during a save, so it fails more often.
      const isUnlucky = dice.chance(
        luck().shardDies * (task.entries.length === 0 && task.asks.length > 0 ? 20 : 1),
      )
      await mayDie(context, 'before a task', undefined)
      if (isUnlucky && dice.chance(0.5)) throw lost('dies before')
      if (isPoisoned(task.entries, progress)) throw lost('is poisoned')
      const result = await thread.run(task)
      if (isUnlucky) throw lost('dies after')
      return mayDie(context, 'after a task', result)
    },
    async close() {
      end?.(lost('is ended'))
      await thread.close()
    },
  }
}

/** True if an entry contains poison. Then `progress` is left as by a thread that died of it. */
function isPoisoned(entries: readonly Entry[], progress: Progress): boolean {
  for (const entry of entries) {
    let index = 0
    for (const item of readItems(entry.body)) {
      if (isPoison(item)) {
        enterEntry(progress, entry)
        begin(progress, index)
        return true
      }
      index++
    }
  }
  return false
}

function isPoison({ kind, payload }: Item): boolean {
  return (
    kind === ITEM.message && payload.length === POISON.length && Buffer.from(payload).toString() === POISON
  )
}
