import { expect, test } from 'vitest'
import { cpuBetween, parseMachineTime, parseStat, processTree, sampleCpu } from './cpu.ts'

const line =
  '4242 (node (x) y) S 17 4242 4242 0 -1 4194560 100 0 0 0 250 75 0 0 20 0 11 0 123 1000 200 18446744073709551615'

test('a process name with blanks and brackets does not shift the fields', () => {
  expect(parseStat(line)).toEqual({ pid: 4242, name: 'node (x) y', parent: 17, cpuMicros: 3_250_000 })
})

test('CPU is split into main thread, other threads and children', () => {
  const stat = (pid: number, parent: number, cpuMicros: number) => ({ pid, name: 'node', parent, cpuMicros })
  const before = {
    root: 1,
    processes: new Map([[1, stat(1, 0, 1000)]]),
    threads: new Map([
      [1, 600],
      [2, 400],
    ]),
  }
  const after = {
    root: 1,
    processes: new Map([
      [1, stat(1, 0, 5000)],
      [9, stat(9, 1, 700)],
    ]),
    threads: new Map([
      [1, 2600],
      [2, 500],
      [3, 1900],
    ]),
  }
  expect(cpuBetween(before, after)).toEqual({
    totalMicros: 4700,
    mainMicros: 2000,
    threadMicros: [1900, 100],
    childrenMicros: 700,
  })
})

test('machine time is split into busy, idle and stolen', () => {
  const text = 'cpu  150 5 120 920 30 2 3 10 0 0\ncpu0 1 2 3\n'
  expect(parseMachineTime(text)).toEqual({
    totalMicros: 12_400_000,
    busyMicros: 2_800_000,
    stealMicros: 100_000,
  })
})

test('this process and its main thread are found', () => {
  expect(processTree(process.pid)[0]?.pid).toBe(process.pid)
  expect(sampleCpu(process.pid).threads.has(process.pid)).toBe(true)
})
