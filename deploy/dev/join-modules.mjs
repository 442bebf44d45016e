// Joins the compiled modules of the service and of the command line in a few files, `dist/program/`: Node takes longer to
// find, read and link a thousand small modules than to run them. `npm run build` calls it after the compiler.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OUT = join(ROOT, 'dist', 'program')
const compiled = (path) => join(ROOT, 'dist', path)

/** The one package that comes along, because it alone is 400 files. Others are imported from `node_modules`. */
const JOINED = 'typebox'

await build({
  input: {
    service: compiled('api/service/main.js'),
    fleet: compiled('api/cli/main.js'),
    // Threads and processes of the service, which find these files beside their own.
    'shard-thread': compiled('engine/runtime/runner/shard-thread.js'),
    'chdb-server': compiled('engine/adapters/telemetry/chdb/chdb-server.js'),
  },
  platform: 'node',
  external: (id) => /^[^./]/.test(id) && id !== JOINED,
  output: { dir: OUT, cleanDir: true, format: 'esm', chunkFileNames: '[name]-[hash].js', sourcemap: true },
})
copyFileSync(join(ROOT, 'node_modules', JOINED, 'license'), join(OUT, `${JOINED}.license`))
