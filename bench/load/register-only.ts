// Devices that exist before the service that is measured starts.
import { startService } from '../targets/service.ts'
import { Rest } from './rest.ts'

/** Registers devices of which nothing is known yet. The service has ended afterwards. */
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
