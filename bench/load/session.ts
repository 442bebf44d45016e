// Starts a service with devices that are registered and connected, and stops it even if the work on it fails.
import { type Service, type ServiceOptions, startService } from '../targets/service.ts'
import type { DeviceLogin } from './device-socket.ts'
import { type Generator, startGenerator } from './generator.ts'
import { Rest } from './rest.ts'

export interface Session {
  readonly service: Service
  readonly rest: Rest
  readonly devices: readonly DeviceLogin[]
  readonly generator: Generator
}

export interface SessionOptions extends ServiceOptions {
  readonly devices: number
}

export function deviceIds(count: number, prefix = 'bench'): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}-${String(at).padStart(6, '0')}`)
}

/** Runs `work` with a service and a login to it. */
export async function withService<T>(
  options: ServiceOptions,
  work: (session: Pick<Session, 'service' | 'rest'>) => Promise<T>,
): Promise<T> {
  const service = await startService(options)
  const rest = new Rest(service.httpUrl)
  try {
    await rest.login()
    return await work({ service, rest })
  } finally {
    rest.close()
    await service.kill()
  }
}

export async function withSession<T>(
  options: SessionOptions,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return await withService(options, async ({ service, rest }) => {
    const devices = await rest.register(deviceIds(options.devices))
    return await withGenerator((generator) => work({ service, rest, devices, generator }))
  })
}

export async function withGenerator<T>(work: (generator: Generator) => Promise<T>): Promise<T> {
  const generator = startGenerator()
  try {
    return await work(generator)
  } finally {
    await generator.close().catch(() => undefined)
  }
}
