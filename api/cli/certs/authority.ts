// A certificate authority in a folder, which holds its key, its certificate, its revocation list and a ledger of issued
// certificates. Anyone who has `ca.key` can impersonate any device.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DeviceId, parseDeviceId } from '../../../schemas/ids.ts'
import { parseJsonObject } from '../../../schemas/json.ts'
import { type Issuer, keyFromPem, keyToPem, makeCertificate, makeCrl, newKey } from './x509.ts'

export interface IssuedCertificate {
  readonly serial: string
  readonly kind: 'server' | 'device'
  readonly name: string
  readonly issued_at: string
  readonly expires_at: string
  readonly revoked_at: string | null
}

/** The message says why the request cannot be fulfilled, and what to do instead. */
export class AuthorityError extends Error {
  override readonly name = 'AuthorityError'
}

export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
}

export interface DeviceRequest {
  readonly deviceId: string
  /** The public key of the device. */
  readonly key: Issuer['key']
}

interface CertificateRequest {
  readonly kind: IssuedCertificate['kind']
  readonly name: DeviceId | string
  readonly hosts?: readonly string[]
  readonly key: Issuer['key']
  readonly days: number
  readonly now: number
}

interface Ledger {
  readonly name: string
  readonly crl_url: string | null
  readonly crl_number: number
  readonly expires_at: string
  readonly issued: readonly IssuedCertificate[]
}

const DAY_MS = 86_400_000
/** Certificates start this far in the past, so that a device whose clock is behind accepts a new one. */
const BACKDATED_MS = 3_600_000

export class Authority {
  readonly #dir: string
  readonly #key: Issuer['key']
  #ledger: Ledger

  private constructor(dir: string, ledger: Ledger) {
    this.#dir = dir
    this.#ledger = ledger
    this.#key = keyFromPem(readFileSync(join(dir, 'ca.key'), 'utf8'))
  }

  static create(
    dir: string,
    { name, days, crlUrl, now }: { name: string; days: number; crlUrl: string | undefined; now: number },
  ): Authority {
    if (existsSync(join(dir, 'ca.key')))
      throw new AuthorityError(`${dir} already has a CA; choose another --dir, or use that CA`)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const key = newKey()
    const until = now + days * DAY_MS
    const issuer = { name, key, crlUrl }
    const { pem } = makeCertificate(issuer, { kind: 'authority', name, key, from: now - BACKDATED_MS, until })
    const ledger = { name, crl_url: crlUrl ?? null, crl_number: 0, expires_at: toIso(until), issued: [] }
    write(join(dir, 'ca.key'), keyToPem(key), 0o600)
    write(join(dir, 'ca.crt'), pem, 0o644)
    const created = new Authority(dir, ledger)
    created.#save({ now })
    return created
  }

  static open(dir: string): Authority {
    const path = join(dir, 'issued.json')
    const hasKey = existsSync(join(dir, 'ca.key'))
    if (!existsSync(path) && hasKey)
      throw new AuthorityError(`${dir} has a CA, but no issued.json; put it back where ca.key is`)
    if (!existsSync(path))
      throw new AuthorityError(`${dir} has no CA; create one with \`fleet certs init --dir ${dir}\``)
    if (!hasKey) throw new AuthorityError(`${dir} has no ca.key; put the key of this CA back to use it`)
    const ledger = parseJsonObject(readFileSync(path, 'utf8'))
    if (ledger === undefined || !Array.isArray(ledger['issued']))
      throw new AuthorityError(
        `${path} is damaged; put it back from a copy, because without it no certificate can be revoked`,
      )
    // Only this class writes the file.
    return new Authority(dir, ledger as unknown as Ledger)
  }

  issued(): readonly IssuedCertificate[] {
    return this.#ledger.issued
  }

  /** The common name is the device id, so a certificate identifies its device. */
  issueDevice(deviceId: string, { days, now }: { days: number; now: number }): CertificateFiles {
    const known = toDeviceId(deviceId)
    mkdirSync(join(this.#dir, 'devices'), { recursive: true, mode: 0o700 })
    return this.#issue({ kind: 'device', name: known, path: join(this.#dir, 'devices', known), days, now })
  }

  /** Signs requests that devices created with their own keys. Each name is checked here again. */
  signRequests(
    requests: readonly DeviceRequest[],
    { days, now }: { days: number; now: number },
  ): readonly Pick<CertificateFiles, 'certificate'>[] {
    const dir = join(this.#dir, 'devices')
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const created = requests.map(({ deviceId, key }) =>
      this.#make({ kind: 'device', name: toDeviceId(deviceId), key, days, now }),
    )
    this.#record(
      created.map(({ entry }) => entry),
      now,
    )
    return created.map(({ entry, pem }) => {
      const certificate = join(dir, `${entry.name}.crt`)
      write(certificate, pem, 0o644)
      return { certificate }
    })
  }

  /** Overwrites the files of the previous certificate, which stays valid. */
  issueServer(
    hosts: readonly [string, ...string[]],
    { days, now }: { days: number; now: number },
  ): CertificateFiles {
    const wrong = hosts.find((host) => !/^[A-Za-z0-9*]([A-Za-z0-9.:-]*[A-Za-z0-9])?$|^::/.test(host))
    if (wrong !== undefined) throw new AuthorityError(`"${wrong}" is neither a host name nor an address`)
    return this.#issue({ kind: 'server', name: hosts[0], hosts, path: join(this.#dir, 'server'), days, now })
  }

  /** Revokes all certificates of a device, or the one with this serial number. Returns those newly revoked. */
  revoke(deviceIdOrSerial: string, { now }: { now: number }): readonly IssuedCertificate[] {
    const isMeant = ({ name, serial }: IssuedCertificate) =>
      name === deviceIdOrSerial || serial === deviceIdOrSerial.toUpperCase()
    const meant = this.#ledger.issued.filter(isMeant)
    if (meant.length === 0)
      throw new AuthorityError(`no certificate was issued to "${deviceIdOrSerial}"; see \`fleet certs list\``)
    const open = meant.filter(({ revoked_at }) => revoked_at === null)
    const revoked_at = toIso(now)
    const issued = this.#ledger.issued.map((entry) =>
      open.includes(entry) ? { ...entry, revoked_at } : entry,
    )
    this.#ledger = { ...this.#ledger, issued }
    this.#save({ now })
    return open
  }

  #issue({ path, ...wanted }: Omit<CertificateRequest, 'key'> & { readonly path: string }): CertificateFiles {
    const key = newKey()
    const { entry, pem } = this.#make({ ...wanted, key })
    this.#record([entry], wanted.now)
    const files = { certificate: `${path}.crt`, key: `${path}.key` }
    write(files.key, keyToPem(key), 0o600)
    write(files.certificate, pem, 0o644)
    return files
  }

  #make({ kind, name, hosts = [], key, days, now }: CertificateRequest): {
    readonly entry: IssuedCertificate
    readonly pem: string
  } {
    // A certificate is never valid for longer than its CA.
    const until = Math.min(now + days * DAY_MS, Date.parse(this.#ledger.expires_at))
    const { serial, pem } = makeCertificate(this.#issuer(), {
      kind,
      name,
      hosts,
      key,
      from: now - BACKDATED_MS,
      until,
    })
    const entry = { serial, kind, name, issued_at: toIso(now), expires_at: toIso(until), revoked_at: null }
    return { entry, pem }
  }

  /** Called before files are written, because a certificate missing from the ledger could not be revoked. */
  #record(entries: readonly IssuedCertificate[], now: number): void {
    this.#ledger = { ...this.#ledger, issued: [...this.#ledger.issued, ...entries] }
    this.#save({ now })
  }

  /** The revocation list is valid as long as the CA, because an expired list invalidates every certificate. */
  #save({ now }: { now: number }): void {
    this.#ledger = { ...this.#ledger, crl_number: this.#ledger.crl_number + 1 }
    write(join(this.#dir, 'issued.json'), `${JSON.stringify(this.#ledger, undefined, 2)}\n`, 0o600)
    const revoked = this.#ledger.issued.flatMap(({ serial, revoked_at }) =>
      revoked_at === null ? [] : [{ serial, at: Date.parse(revoked_at) }],
    )
    const { crl_number: number, expires_at } = this.#ledger
    const list = makeCrl(this.#issuer(), {
      revoked,
      number,
      from: now - BACKDATED_MS,
      until: Date.parse(expires_at),
    })
    write(join(this.#dir, 'ca.crl'), list, 0o644)
  }

  #issuer(): Issuer {
    return { name: this.#ledger.name, key: this.#key, crlUrl: this.#ledger.crl_url ?? undefined }
  }
}

function toDeviceId(text: string): DeviceId {
  const known = parseDeviceId(text)
  if (known !== undefined) return known
  throw new AuthorityError(
    `"${text}" is not a device id; use letters, digits, _ and -, at most 64 characters`,
  )
}

/** Replaces the file atomically, because a service may be reading it. */
function write(path: string, text: string, mode: number): void {
  // The name is random, so nobody can have placed a file or link there, and the mode of a new file protects the key.
  const temporary = `${path}.${randomUUID()}.new`
  writeFileSync(temporary, text, { mode, flag: 'wx' })
  renameSync(temporary, path)
}

function toIso(at: number): string {
  return new Date(at).toISOString()
}
