// Detects whether something else used the machine during a measurement.
import { readFileSync } from 'node:fs'
import { type CpuSample, cpuBetween, type MachineTime, parseMachineTime, sampleCpu } from './cpu.ts'
import { toDigits } from './report.ts'

/** Percentage of CPU time taken by the hypervisor above which a figure is doubtful. */
const STEAL_PERCENT_MAX = 2
/** The same limit for other processes, including work that the kernel does for no process. */
const OTHERS_PERCENT_MAX = 10

export class NoiseMeter {
  readonly #machine: MachineTime
  /** CPU time of the bench and of everything it started. */
  readonly #ours: CpuSample

  constructor() {
    this.#ours = sampleCpu(process.pid)
    this.#machine = readMachineTime()
  }

  /** A note for a figure: empty, or the reason why it should be measured again. */
  note(): string {
    const now = readMachineTime()
    const ours = cpuBetween(this.#ours, sampleCpu(process.pid)).totalMicros
    const total = now.totalMicros - this.#machine.totalMicros
    const steal = (100 * (now.stealMicros - this.#machine.stealMicros)) / total
    const others = (100 * (now.busyMicros - this.#machine.busyMicros - ours)) / total
    const notes = [
      ...(steal > STEAL_PERCENT_MAX ? [`the hypervisor took ${toDigits(steal)} %`] : []),
      ...(others > OTHERS_PERCENT_MAX ? [`other processes took ${toDigits(others)} %`] : []),
    ]
    return notes.length === 0 ? '' : `; NOISY: ${notes.join(', ')}`
  }
}

function readMachineTime(): MachineTime {
  return parseMachineTime(readFileSync('/proc/stat', 'utf8'))
}
