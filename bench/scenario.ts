// The context in which a scenario runs. It adds figures and may use those of earlier scenarios.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Figure } from './measure/report.ts'

export interface Scenario {
  readonly name: string
  readonly about: string
  run(bench: Bench): Promise<void>
}

export class Bench {
  readonly quick: boolean
  /** The folder for all data. */
  readonly root: string
  readonly #figures: Figure[] = []

  constructor(options: { readonly quick: boolean; readonly root: string }) {
    this.quick = options.quick
    this.root = options.root
  }

  get figures(): readonly Figure[] {
    return this.#figures
  }

  add(...figures: readonly Figure[]): void {
    this.#figures.push(...figures)
  }

  /** Returns the value of an earlier figure, if its scenario has run. */
  find(scenario: string, name: string): number | undefined {
    return this.#figures.find((figure) => figure.scenario === scenario && figure.name === name)?.value
  }

  /** Returns the share of a floor as part of a figure, or nothing if the share is unknown. */
  shareOf(of: string, share: number | undefined): Pick<Figure, 'floorShare'> {
    return share === undefined || !Number.isFinite(share) ? {} : { floorShare: { of, share } }
  }

  /** Runs `work` with a new empty directory, which is removed afterwards. */
  async withDir<T>(work: (dir: string) => Promise<T>): Promise<T> {
    const dir = mkdtempSync(join(this.root, 'run-'))
    try {
      return await work(dir)
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  }

  say(text: string): void {
    process.stderr.write(`  ${text}\n`)
  }
}
