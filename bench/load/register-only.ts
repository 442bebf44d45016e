// Registers devices before the measured service starts.
import { withService } from './session.ts'

/** Registers devices that have never reported anything. The service has ended when this resolves. */
export async function registerOnly(dataDir: string, ids: readonly string[]): Promise<void> {
  await withService({ dataDir, durability: 'power' }, ({ rest }) => rest.register(ids))
}
