// Signals to processes of the system under test.
import { readdirSync, readFileSync } from 'node:fs'
import { until } from '../../../bench/measure/deadline.ts'

const HALTED = { deadlineMs: 10_000, everyMs: 5 } as const

/** A negative id means a group of processes. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended by itself.
  }
}

/** Stops processes, and resolves once all of their threads stand still: one that waits for its disk goes on until then.
 *  `pids` is asked again, since a process may just have been started. */
export async function halt(pids: () => readonly number[]): Promise<void> {
  await until('the processes stand still', HALTED, async () => {
    const states = pids().flatMap((pid) => {
      signal(pid, 'SIGSTOP')
      return statesOf(pid)
    })
    // What has ended stands still, too.
    return states.every((state) => 'TtZX'.includes(state)) || undefined
  })
}

/** The processes of a group. Linux only, like `halt`. */
export function groupOf(leader: number): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && fieldsOf(`/proc/${pid}/stat`)?.group === leader)
}

/** The states of its threads; none if it has ended. */
function statesOf(pid: number): readonly string[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return threads.flatMap((thread) => fieldsOf(`/proc/${pid}/task/${thread}/stat`)?.state ?? [])
  } catch {
    // It has ended.
    return []
  }
}

/** Undefined if there is no such process or thread any more. */
function fieldsOf(path: string): { readonly state: string; readonly group: number } | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    // The name of the program comes before them, in brackets, and may have any letters.
    const [state = '', , group] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, group: Number(group) }
  } catch {
    // It has ended.
    return undefined
  }
}
