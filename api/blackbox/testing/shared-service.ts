// One service for all test files of a worker that need nothing but the default settings. Files of a worker run one after
// the other, so a file meets only what earlier ones left: it uses ids, groups and accounts of its own, never counts
// what is in the whole fleet. A file may kill the service and start it again.
import { test as base } from 'vitest'
import { type Service, ServiceHarness } from './service.ts'
import { endClients } from './service-clients.ts'

/** How long the service waits for the next file. The configuration of the tests lets sharing files follow each other. */
const IDLE_MS = 10_000

class SharedService {
  #harness = new ServiceHarness()
  #current: { readonly service: Service; isRunning: boolean } | undefined
  #idle: NodeJS.Timeout | undefined

  async take(): Promise<Service> {
    clearTimeout(this.#idle)
    if (this.#current?.isRunning === true) return this.#view(this.#current.service)
    await this.close()
    this.#harness = new ServiceHarness()
    return this.#keep(await this.#harness.start())
  }

  leave(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref()
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    this.#current = undefined
    await this.#harness.close()
  }

  #keep(service: Service): Service {
    const current = { service, isRunning: true }
    this.#current = current
    void service.ended.then(() => {
      current.isRunning = false
    })
    return this.#view(service)
  }

  /** The service as one file sees it. If the file starts it again, the next files get the new process. */
  #view(service: Service): Service {
    return { ...service, again: async () => this.#keep(await service.again()) }
  }
}

/**
 * Gives hooks and tests the shared service. A file whose hooks use it imports its `test` from here.
 * `test.beforeAll(async ({ service }) => …)`
 */
export const test = base
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from the pattern.
  .extend('shared', { scope: 'worker' }, ({}, { onCleanup }) => {
    const shared = new SharedService()
    onCleanup(() => shared.close())
    return shared
  })
  .extend('service', { scope: 'file' }, ({ shared }, { onCleanup }) => {
    onCleanup(() => {
      endClients()
      shared.leave()
    })
    return shared.take()
  })
