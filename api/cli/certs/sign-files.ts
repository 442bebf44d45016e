// Signs the requests in files independently of each other: a bad one is reported, and the others are signed.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseDeviceId } from '../../../schemas/ids.ts'
import { type Authority, AuthorityError, type DeviceRequest } from './authority.ts'
import { readSigningRequest } from './signing-request.ts'

export interface SignedFile {
  readonly file: string
  readonly device_id: string | null
  readonly certificate: string | null
  /** The reason if no certificate was issued. */
  readonly error: string | null
}

interface SignOptions {
  /** The device of a single file, whatever name the request contains. */
  readonly deviceId?: string | undefined
  readonly days: number
  readonly now: number
}

type RequestCheck = { readonly kind: 'fit'; readonly request: DeviceRequest } | Unfit
interface Unfit {
  readonly kind: 'unfit'
  readonly why: string
}

const REQUEST_BYTES_MAX = 65_536

/** The requests in a file, or in all files `*.csr` of a folder, sorted by name. */
export function requestFiles(path: string): {
  readonly files: readonly string[]
  readonly isFolder: boolean
} {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new AuthorityError(`there is no file or folder ${path}`)
  if (!found.isDirectory()) return { files: [path], isFolder: false }
  const names = readdirSync(path).filter((name) => name.endsWith('.csr'))
  if (names.length === 0) throw new AuthorityError(`${path} has no files named *.csr`)
  return { files: names.sort().map((name) => join(path, name)), isFolder: true }
}

export function signFiles(
  authority: Authority,
  files: readonly string[],
  { deviceId, days, now }: SignOptions,
): readonly SignedFile[] {
  const seen = new Set<string>()
  const judged = files.map((file) => [file, withoutRepeats(checkFile(file, deviceId), seen)] as const)
  const fit = judged.flatMap(([, result]) => (result.kind === 'fit' ? [result.request] : []))
  const certificates = new Map(
    authority.signRequests(fit, { days, now }).map(({ certificate }, i) => [fit[i], certificate]),
  )
  return judged.map(([file, result]) =>
    result.kind === 'fit'
      ? {
          file,
          device_id: result.request.deviceId,
          certificate: certificates.get(result.request) ?? null,
          error: null,
        }
      : { file, device_id: null, certificate: null, error: result.why },
  )
}

function checkFile(file: string, named: string | undefined): RequestCheck {
  const { size } = statSync(file)
  if (size > REQUEST_BYTES_MAX) return unfit('it is larger than any signing request')
  const read = readSigningRequest(readFileSync(file))
  if (read.kind === 'unfit') return read
  const { commonName, key, otherNames } = read
  const deviceId = parseDeviceId(named ?? commonName)
  if (deviceId === undefined)
    return unfit(
      commonName === undefined
        ? 'it has no common name; make it with the device id (CN=robot-7), or pass --device'
        : `its common name ${JSON.stringify(commonName)} is not a device id; make it with one, or pass --device`,
    )
  const foreign = otherNames.find((name) => name !== deviceId)
  if (foreign !== undefined)
    return unfit(
      `it asks for the name ${JSON.stringify(foreign)} beside the device id; leave out subjectAltName`,
    )
  return { kind: 'fit', request: { deviceId, key } }
}

/** Refuses a second request for the same device, whose certificate would overwrite the first. */
function withoutRepeats(judged: RequestCheck, seen: Set<string>): RequestCheck {
  if (judged.kind === 'unfit') return judged
  const { deviceId } = judged.request
  if (seen.has(deviceId)) return unfit(`another file before it is a request of ${deviceId}, too`)
  seen.add(deviceId)
  return judged
}

function unfit(why: string): Unfit {
  return { kind: 'unfit', why }
}
