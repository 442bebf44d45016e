// Writes each built file compressed as well, so that the service compresses nothing while it serves.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

const COMPRESSIBLE = /\.(js|css|svg|html|json)$/

export function compressed(): Plugin {
  let folder = ''
  return {
    name: 'fleet-compressed',
    apply: 'build',
    configResolved(config) {
      folder = config.build.outDir
    },
    closeBundle() {
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      for (const file of files.filter((name) => COMPRESSIBLE.test(name) && !name.startsWith('.'))) {
        const bytes = readFileSync(join(folder, file))
        writeFileSync(`${join(folder, file)}.gz`, gzipSync(bytes, { level: 9 }))
        const params = {
          [constants.BROTLI_PARAM_QUALITY]: 11,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        }
        writeFileSync(`${join(folder, file)}.br`, brotliCompressSync(bytes, { params }))
      }
    },
  }
}
