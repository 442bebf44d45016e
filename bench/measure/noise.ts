// Whether somebody else was using the machine while something was measured.
import { readFileSync } from 'node:fs'
import { type CpuSample, cpuBetween, type MachineTime, parseMachineTime, sampleCpu } from './cpu.ts'
import { toDigits } from './report.ts'

/** Beyond, the figure says little. */
const STEAL_PERCENT_MAX = 2
/** Kernel work for nobody in particular is part of it. */
const OTHERS_PERCENT_MAX = 10

export class NoiseMeter {
  readonly #machine: MachineTime
  /** The bench and all it started. */
  readonly #ours: CpuSample

  constructor() {
    this.#ours = sampleCpu(process.pid)
    this.#machine = readMachineTime()
  }

  /** What to say beside the figure: nothing, or why it should be taken again. */
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
