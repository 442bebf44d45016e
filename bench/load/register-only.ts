// Registers devices before the measured service starts.
import { startService } from '../targets/service.ts'
import { Rest } from './rest.ts'

/** Registers devices that have never reported anything. The service has ended when this resolves. */
export async function registerOnly(dataDir: string, ids: readonly string[]): Promise<void> {
  const service = await startService({ dataDir, durability: 'power' })
  const rest = new Rest(service.httpUrl)
  try {
    await rest.login()
    await rest.register(ids)
  } finally {
    rest.close()
    await service.kill()
  }
}
