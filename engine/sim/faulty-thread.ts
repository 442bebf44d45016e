// A shard's thread that dies now and then, before its task or after it with the result lost, and each time it meets a
// poisonous message. It may also hang instead.
import { ITEM, type Item, readItems } from '../domain/bundle.ts'
import { Fault } from '../ports/fault.ts'
import type { Entry } from '../ports/log.ts'
import type { ShardThread } from '../runtime/runner/thread.ts'
import { begin, enter, type Progress } from '../runtime/shard/progress.ts'
import { type FaultContext, mayDie } from './faults.ts'

export const POISON = '{"poison":true}'

export function faultyThread(thread: ShardThread, progress: Progress, context: FaultContext): ShardThread {
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
      // A task without entries often comes while something is being saved.
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

/** Leaves the progress as a thread that died would have left it. */
function isPoisoned(entries: readonly Entry[], progress: Progress): boolean {
  for (const entry of entries) {
    let index = 0
    for (const item of readItems(entry.body)) {
      if (isPoison(item)) {
        enter(progress, entry)
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
