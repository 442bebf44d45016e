// Reads the CPU time of a process, its threads and its children from /proc, which only Linux has, and that of this process.
import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in hundredths of a second on every platform on which Node runs. */
const MICROS_PER_TICK = 10_000

export interface ProcStat {
  readonly pid: number
  readonly name: string
  readonly parent: number
  readonly cpuMicros: number
}

/** Parses /proc/<pid>/stat or /proc/<pid>/task/<tid>/stat. The name may contain blanks and brackets. */
export function parseStat(text: string): ProcStat {
  const open = text.indexOf('(')
  const close = text.lastIndexOf(')')
  const fields = text.slice(close + 2).split(' ')
  return {
    pid: Number(text.slice(0, open)),
    name: text.slice(open + 1, close),
    parent: Number(fields[1]),
    cpuMicros: (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK,
  }
}

export interface CpuSample {
  /** CPU time of the root process and its descendants in microseconds, by process id. */
  readonly processes: ReadonlyMap<number, ProcStat>
  /** CPU time of the root process's threads in microseconds, by thread id. */
  readonly threads: ReadonlyMap<number, number>
  readonly root: number
}

export function sampleCpu(root: number): CpuSample {
  const processes = new Map<number, ProcStat>()
  for (const stat of processTree(root)) processes.set(stat.pid, stat)
  const threads = new Map<number, number>()
  for (const thread of list(`/proc/${root}/task`)) {
    const micros = threadMicros(`/proc/${root}/task/${thread}`)
    if (micros !== undefined) threads.set(Number(thread), micros)
  }
  return { processes, threads, root }
}

export interface CpuUse {
  readonly totalMicros: number
  /** The event loop of the root process. */
  readonly mainMicros: number
  /** The CPU time of the busiest other threads of the root process, in descending order. */
  readonly threadMicros: readonly number[]
  readonly childrenMicros: number
}

/** Returns the CPU time used between two samples of the same root process. */
export function cpuBetween(before: CpuSample, after: CpuSample): CpuUse {
  let totalMicros = 0
  let childrenMicros = 0
  for (const [pid, stat] of after.processes) {
    const used = stat.cpuMicros - (before.processes.get(pid)?.cpuMicros ?? 0)
    totalMicros += used
    if (pid !== after.root) childrenMicros += used
  }
  const used = [...after.threads].map(([id, micros]) => ({
    id,
    micros: micros - (before.threads.get(id) ?? 0),
  }))
  const others = used.filter(({ id }) => id !== after.root).map(({ micros }) => micros)
  return {
    totalMicros,
    mainMicros: used.find(({ id }) => id === after.root)?.micros ?? 0,
    threadMicros: others.sort((a, b) => b - a),
    childrenMicros,
  }
}

/** Returns the CPU time that this process takes for the work. */
export function ownMicros(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** Returns `root` and its descendants. */
export function processTree(root: number): readonly ProcStat[] {
  const all = list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => read(`/proc/${name}/stat`))
    .filter((text) => text !== undefined)
    .map(parseStat)
  const found = all.filter((stat) => stat.pid === root)
  for (const above of found) found.push(...all.filter((stat) => stat.parent === above.pid))
  return found
}

export interface MachineTime {
  readonly totalMicros: number
  readonly busyMicros: number
  /** Time that the hypervisor gave to other machines. */
  readonly stealMicros: number
}

/** Parses /proc/stat, which has the sum over all cores since the machine started. */
export function parseMachineTime(text: string): MachineTime {
  const line = text.slice(0, text.indexOf('\n'))
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number)
  const [, , , idle = 0, waiting = 0, , , steal = 0] = ticks
  const total = ticks.reduce((sum, tick) => sum + tick, 0)
  return {
    totalMicros: total * MICROS_PER_TICK,
    busyMicros: (total - idle - waiting - steal) * MICROS_PER_TICK,
    stealMicros: steal * MICROS_PER_TICK,
  }
}

// schedstat counts nanoseconds, but some kernels do not have it. stat is always there and counts ticks.
function threadMicros(path: string): number | undefined {
  const fine = read(`${path}/schedstat`)?.split(' ')[0]
  if (fine !== undefined && fine !== '0') return Number(fine) / 1000
  const coarse = read(`${path}/stat`)
  return coarse === undefined ? undefined : parseStat(coarse).cpuMicros
}

// A process may end after it was listed, and its files are then gone.
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function list(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
