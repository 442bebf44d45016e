// A user who registers devices, edits them and reads them, alone and in lists, at any node. The user must find again what
// was answered before.
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientOptions } from './client.ts'
import type { RecordCall } from './recording.ts'

const PAUSE_MS = 150
const EDITS_MAX = 20

export class RecordKeeper {
  readonly #options: ClientOptions
  readonly #client: Client
  #devices = 0
  #isStopped = false

  constructor(options: ClientOptions) {
    this.#options = options
    this.#client = new Client(options)
  }

  stop(): void {
    this.#isStopped = true
  }

  async run(): Promise<void> {
    while (!this.#isStopped) await this.#keepOne(`${this.#options.name}-${this.#devices++}`)
  }

  /** The user works on one device until an edit has no answer: that edit may happen at any later time, and no other may come
   *  before it. */
  async #keepOne(device: string): Promise<void> {
    for (let edit = 0; edit < EDITS_MAX && !this.#isStopped; edit++) {
      if (!(await this.#edit(device, edit))) return
      for (let looks = 0; looks < 2; looks++) {
        await sleep(this.#options.dice() * PAUSE_MS)
        await (this.#options.dice() < 0.5 ? this.#look(device) : this.#list(device))
      }
    }
  }

  async #edit(device: string, edit: number): Promise<boolean> {
    const call: RecordCall = { kind: 'edit', edit, ...this.#client.begin(device) }
    const description = String(edit)
    const about = { device_id: device, name: device, type: 'mqtt_device', description }
    const answer = await this.#client.ask(
      call,
      edit === 0
        ? { method: 'POST', path: '/devices', body: about }
        : { method: 'PATCH', path: `/devices/${device}`, body: { description } },
    )
    if (answer !== undefined && answer.status >= 300) await this.#client.wait()
    return answer?.status === (edit === 0 ? 201 : 200)
  }

  async #look(device: string): Promise<void> {
    const call: RecordCall = { kind: 'record', ...this.#client.begin(device) }
    const answer = await this.#client.ask(call, { method: 'GET', path: `/devices/${device}` })
    if (answer?.status === 200) call.edit = Number(answer.body['description'])
    if (answer?.status === 404) call.edit = -1
  }

  async #list(device: string): Promise<void> {
    const call: RecordCall = { kind: 'list', ...this.#client.begin(device) }
    const answer = await this.#client.ask(call, { method: 'GET', path: `/devices?q=${device}&per_page=100` })
    if (answer?.status !== 200) return
    // The answer has the type of its schema.
    const found = answer.body['data'] as readonly {
      readonly device_id: string
      readonly description?: string
    }[]
    call.edit = Number(found.find(({ device_id: id }) => id === device)?.description ?? -1)
  }
}
