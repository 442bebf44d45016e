// What a device remembers over restarts: small values under fixed names.

import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { parseJson } from '../../../schemas/json.ts'

export interface DeviceStorage {
  /** Where images of firmware are downloaded to, if nothing else is said. Left out, it is a new folder for each process. */
  readonly imageFolder?: string
  read(name: string): Promise<Uint8Array | undefined>
  /** Resolves once the value would survive a power cut. */
  write(name: string, value: Uint8Array): Promise<void>
}

/** Forgets everything when the process ends: a command that is delivered again after a restart is carried out again. */
export function memoryStorage(): DeviceStorage {
  const values = new Map<string, Uint8Array>()
  return {
    read: async (name) => values.get(name),
    write: async (name, value) => void values.set(name, value),
  }
}

export function fileStorage(folder: string): DeviceStorage {
  return {
    imageFolder: join(folder, 'images'),
    read: async (name) => {
      try {
        return await readFile(join(folder, name))
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      }
    },
    write: (name, value) => replace(folder, name, value),
  }
}

/** The old value or the new one is there after a crash, never a part of one. */
async function replace(folder: string, name: string, value: Uint8Array): Promise<void> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${name}.${randomUUID()}.tmp`)
  await using(path, 'w', async (file) => {
    await file.writeFile(value)
    await file.sync()
  })
  await rename(path, join(folder, name))
  await using(folder, 'r', (file) => file.sync())
}

async function using(
  path: string,
  flags: string,
  run: (file: Awaited<ReturnType<typeof open>>) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags)
  try {
    await run(file)
  } finally {
    await file.close()
  }
}

/** Reads a JSON value. A value that cannot be read is as good as none: what it stood for is done again. */
export async function readJson(storage: DeviceStorage, name: string): Promise<unknown> {
  const bytes = await storage.read(name)
  return bytes === undefined ? undefined : parseJson(Buffer.from(bytes).toString('utf8'))
}

export function writeJson(storage: DeviceStorage, name: string, value: unknown): Promise<void> {
  return storage.write(name, Buffer.from(JSON.stringify(value)))
}
