// Images of earlier updates. Each has its own file, so a device that is updated again and again would fill its disk.
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const IMAGE = /^[0-9a-f]{64}\.image$/

/** Deletes all images beside `path` but the two newest: the device may run from one, and the other may be half a download. */
export async function deleteOldImages(path: string): Promise<void> {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => [])
  const others = names.filter((name) => IMAGE.test(name) && name !== basename(path))
  const images = await Promise.all(
    others.map(async (name) => ({ name, mtimeMs: (await stat(join(folder, name))).mtimeMs })),
  )
  const [, , ...old] = images.sort((a, b) => b.mtimeMs - a.mtimeMs)
  for (const { name } of old) await rm(join(folder, name), { force: true })
}
