// Puts the files of `/docs` into `dist/docs`. These are the files of Swagger UI, and the guide for devices as a page.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const FILES = ['swagger-ui-bundle.js', 'swagger-ui.css']
const LICENCES = ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt']
/** The output is almost as small as with the best quality, and takes a tenth of the time. */
const BROTLI_QUALITY = 9

/** Must run after the compiler, whose output it uses. */
export async function buildDocs(root) {
  const from = join(root, 'node_modules', 'swagger-ui-dist')
  const to = join(root, 'dist', 'docs')
  const assets = join(to, 'assets')
  rmSync(to, { recursive: true, force: true })
  mkdirSync(assets, { recursive: true })
  for (const name of FILES)
    writeCompressed(join(assets, name), withoutSourceMap(readFileSync(join(from, name), 'utf8')))
  for (const name of LICENCES)
    copyFileSync(
      join(from, name),
      join(assets, `swagger-ui-${name.replace('swagger-ui-', '').replace(/\.txt$/, '')}.txt`),
    )
  const page = pathToFileURL(join(root, 'dist', 'api', 'openapi', 'devices-page.js'))
  const { devicesPage } = await import(page)
  writeCompressed(
    join(to, 'devices.html'),
    devicesPage(readFileSync(join(root, 'api', 'DEVICES.md'), 'utf8')),
  )
}

/** Removes the reference to a source map that is not served. */
function withoutSourceMap(text) {
  return text.replace(/\n(\/\/|\/\*)# sourceMappingURL=\S*( \*\/)?\s*$/, '\n')
}

function writeCompressed(path, text) {
  const bytes = Buffer.from(text)
  writeFileSync(path, bytes)
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
}
