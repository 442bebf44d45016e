// For tests: the embedded broker with devices of paho for Python, each test with a device id of its own.
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { openStage, type Stage } from './embedded-broker.ts'
import { until } from './fake-host.ts'
import { type PahoConnect, type PahoDevice, PahoDevices } from './paho-devices.ts'

/** Undefined where the tests have to be skipped. */
export const PYTHON = process.env['TEST_SERVER_PYTHON_WITH_PAHO']

export class PahoStage {
  #stage: Stage | undefined
  #paho: PahoDevices | undefined
  #number = 0

  /** Opens the stage before the tests of the file, and closes it after them. */
  constructor() {
    beforeAll(async () => {
      this.#stage = await openStage()
      if (PYTHON !== undefined) this.#paho = new PahoDevices(PYTHON, this.#stage.port)
    })
    afterAll(async () => {
      this.#paho?.close()
      await this.#stage?.broker.close()
    })
    beforeEach(() => {
      this.#number++
    })
  }

  get stage(): Stage {
    if (this.#stage === undefined) throw new Error('the stage is not open')
    return this.#stage
  }

  /** The device id of this test. */
  get id(): string {
    return `d${this.#number}`
  }

  topic(suffix: string): string {
    return `fleet/${this.id}/${suffix}`
  }

  /** The second device of the same id needs a name. */
  device(level: number, name = '', id = this.id): PahoDevice {
    if (this.#paho === undefined) throw new Error('there is no paho')
    return this.#paho.device(id, level, `${this.#number} ${name}`)
  }

  closed(count = 1): Promise<void> {
    return until(() => this.stage.host.causes(this.id).length === count, 'the end of a session')
  }
}

export function texts(device: PahoDevice): readonly (string | undefined)[] {
  return device.messages().map(({ text }) => text)
}

export const LASTING: PahoConnect = { clean: false, connect: { SessionExpiryInterval: 600 } }
