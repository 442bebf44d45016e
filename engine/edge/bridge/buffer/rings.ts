// The rings on disk. There is one for each priority that a route has now or had in an earlier run.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { COMMAND_PRIORITIES, type CommandPriority } from '../../../../schemas/vocabulary.ts'
import { DiskRing, type RingBounds } from './disk-ring.ts'

/** The rings in order of priority, highest first. */
export type RingsByPriority = ReadonlyMap<CommandPriority, DiskRing>

/** Opens the rings. They share the bytes equally, so that no priority can displace another one. */
export async function openRings(
  folder: string,
  bounds: RingBounds & { readonly priorities: ReadonlySet<CommandPriority> },
  ports: Parameters<typeof DiskRing.open>[2],
): Promise<RingsByPriority> {
  const { bytesMax, ageMsMax, priorities } = bounds
  const placeOf = (priority: CommandPriority) =>
    join(folder, priority === 'normal' ? 'messages' : `messages-${priority}`)
  const used = COMMAND_PRIORITIES.filter((each) => priorities.has(each) || existsSync(placeOf(each)))
  const rings = new Map<CommandPriority, DiskRing>()
  for (const priority of used) {
    const share = { bytesMax: Math.floor(bytesMax / used.length), ageMsMax }
    rings.set(priority, await DiskRing.open(placeOf(priority), share, ports))
  }
  return rings
}
