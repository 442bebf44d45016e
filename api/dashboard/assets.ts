// Files of a built page in memory, with what the build compressed beside them. They are read once at the start, so no path
// of a request ever reaches the file system.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import type { PageAnswer, PageRequest } from '../http/pages.ts'
import { bestEncoding, type Encoding } from './encoding.ts'

export interface Asset {
  readonly type: string
  readonly etag: string
  /** Its name has a hash of its content. */
  readonly isImmutable: boolean
  readonly bytes: Readonly<Partial<Record<Encoding, Uint8Array>>> & { readonly identity: Uint8Array }
}

/** Files by their path from the root of the folder, such as `/index.html`. */
export type Assets = ReadonlyMap<string, Asset>

export type ReadAssets =
  | { readonly kind: 'assets'; readonly assets: Assets; readonly hash: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'too_large'; readonly bytes: number }

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}
const HASHED = /-[\w-]{8}\.\w{1,5}$/
const HASH_CHARS = 12

/** Reads the files of known types. Names that begin with a dot are the build's own. */
export function readAssets(folder: string, bytesMax: number): ReadAssets {
  if (!existsSync(folder)) return { kind: 'missing' }
  const paths = filesIn(folder)
  const served = paths.filter((path) => TYPES[extname(path)] !== undefined)
  const bytes = served.reduce((sum, path) => sum + statSync(join(folder, path)).size, 0)
  if (bytes > bytesMax) return { kind: 'too_large', bytes }
  const known = new Set(paths)
  const all = createHash('sha256')
  const assets = new Map<string, Asset>()
  for (const path of served) {
    const asset = readAsset(folder, path, known)
    all.update(`${path} ${asset.etag}\n`)
    assets.set(`/${path.split(sep).join('/')}`, asset)
  }
  return { kind: 'assets', assets, hash: all.digest('hex').slice(0, HASH_CHARS) }
}

function readAsset(folder: string, path: string, known: ReadonlySet<string>): Asset {
  const read = (name: string) => (known.has(name) ? readFileSync(join(folder, name)) : undefined)
  const identity = readFileSync(join(folder, path))
  const [br, gzip] = [read(`${path}.br`), read(`${path}.gz`)]
  return {
    type: TYPES[extname(path)] ?? '',
    etag: createHash('sha256').update(identity).digest('base64url').slice(0, HASH_CHARS),
    isImmutable: HASHED.test(path),
    bytes: { identity, ...(br === undefined ? {} : { br }), ...(gzip === undefined ? {} : { gzip }) },
  }
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      join(parentPath, name)
        .slice(folder.length)
        .replace(/^[/\\]/, ''),
    )
    .filter((path) => !path.split(sep).some((part) => part.startsWith('.')))
    .sort()
}

/** The answer with a file, or that the caller has it already. */
export function assetAnswer(
  { type, etag, isImmutable, bytes }: Asset,
  { headers }: Pick<PageRequest, 'headers'>,
  more: Readonly<Record<string, string>> = {},
): PageAnswer {
  const encoding = bestEncoding(headers['accept-encoding'], bytes)
  // Each form has a tag of its own, because a tag stands for bytes.
  const tag = `"${etag}${encoding === 'identity' ? '' : `-${encoding}`}"`
  const shared = {
    ...more,
    etag: tag,
    vary: 'accept-encoding',
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  }
  const asked = headers['if-none-match']
  if (asked?.split(',').some((one) => one.trim().replace(/^W\//, '') === tag) === true)
    return { status: 304, headers: shared, bytes: new Uint8Array() }
  const coded = encoding === 'identity' ? {} : { 'content-encoding': encoding === 'br' ? 'br' : 'gzip' }
  return {
    status: 200,
    headers: { ...shared, ...coded, 'content-type': type },
    bytes: bytes[encoding] ?? bytes.identity,
  }
}
