// A certificate authority in a folder: its key, its certificate, the list of what it has revoked, and what it issued.
// The folder is all there is: who has `ca.key` can be any device.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DeviceId, parseDeviceId } from '../../../schemas/ids.ts'
import { type Issuer, keyFromPem, keyToPem, makeCertificate, makeCrl, newKey } from './x509.ts'

export interface Issued {
  readonly serial: string
  readonly kind: 'server' | 'device'
  readonly name: string
  readonly issued_at: string
  readonly expires_at: string
  readonly revoked_at: string | null
}

/** What is asked for cannot be done; the message says why, and what can. */
export class AuthorityError extends Error {
  override readonly name = 'AuthorityError'
}

export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
}

interface Ledger {
  readonly name: string
  readonly crl_url: string | null
  readonly crl_number: number
  readonly expires_at: string
  readonly issued: readonly Issued[]
}

const DAY_MS = 86_400_000
/** Clocks of devices differ: what is issued now counts already for one that is behind. */
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
      throw new AuthorityError(`${dir} has a CA already; choose another --dir, or use it`)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const key = newKey()
    const until = now + days * DAY_MS
    const issuer = { name, key, crlUrl }
    const { pem } = makeCertificate(issuer, { kind: 'authority', name, key, from: now - BACKDATED_MS, until })
    const ledger = { name, crl_url: crlUrl ?? null, crl_number: 0, expires_at: toIso(until), issued: [] }
    write(join(dir, 'ca.key'), keyToPem(key), 0o600)
    write(join(dir, 'ca.crt'), pem, 0o644)
    const made = new Authority(dir, ledger)
    made.#save({ now })
    return made
  }

  static open(dir: string): Authority {
    const path = join(dir, 'issued.json')
    if (!existsSync(path))
      throw new AuthorityError(`${dir} has no CA; make one with \`fleet certs init --dir ${dir}\``)
    // We wrote it.
    return new Authority(dir, JSON.parse(readFileSync(path, 'utf8')) as Ledger)
  }

  issued(): readonly Issued[] {
    return this.#ledger.issued
  }

  /** The certificate's common name is the device's id: whoever has its key is that device. */
  issueDevice(deviceId: string, { days, now }: { days: number; now: number }): CertificateFiles {
    const known = parseDeviceId(deviceId)
    if (known === undefined)
      throw new AuthorityError(`"${deviceId}" is no device id: letters, digits, _ and -, 64 at most`)
    mkdirSync(join(this.#dir, 'devices'), { recursive: true, mode: 0o700 })
    return this.#issue({ kind: 'device', name: known, path: join(this.#dir, 'devices', known), days, now })
  }

  /** Replaces the one before, which goes on to count. */
  issueServer(
    hosts: readonly [string, ...string[]],
    { days, now }: { days: number; now: number },
  ): CertificateFiles {
    const wrong = hosts.find((host) => !/^[A-Za-z0-9*]([A-Za-z0-9.:-]*[A-Za-z0-9])?$|^::/.test(host))
    if (wrong !== undefined) throw new AuthorityError(`"${wrong}" is neither a host name nor an address`)
    return this.#issue({ kind: 'server', name: hosts[0], hosts, path: join(this.#dir, 'server'), days, now })
  }

  /** Everything that was issued to the device, or the one of this serial number. Returns what was revoked now. */
  revoke(deviceIdOrSerial: string, { now }: { now: number }): readonly Issued[] {
    const isMeant = ({ name, serial }: Issued) =>
      name === deviceIdOrSerial || serial === deviceIdOrSerial.toUpperCase()
    const meant = this.#ledger.issued.filter(isMeant)
    if (meant.length === 0)
      throw new AuthorityError(
        `nothing was issued to "${deviceIdOrSerial}"; \`fleet certs list\` shows what was`,
      )
    const open = meant.filter(({ revoked_at }) => revoked_at === null)
    const revoked_at = toIso(now)
    const issued = this.#ledger.issued.map((entry) =>
      open.includes(entry) ? { ...entry, revoked_at } : entry,
    )
    this.#ledger = { ...this.#ledger, issued }
    this.#save({ now })
    return open
  }

  #issue(wanted: {
    kind: Issued['kind']
    name: DeviceId | string
    hosts?: readonly string[]
    path: string
    days: number
    now: number
  }): CertificateFiles {
    const { kind, name, hosts = [], path, days, now } = wanted
    const key = newKey()
    // A certificate that outlives its CA would stop counting before it says so.
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
    // In the ledger first: what is not there could not be revoked.
    this.#ledger = { ...this.#ledger, issued: [...this.#ledger.issued, entry] }
    this.#save({ now })
    const files = { certificate: `${path}.crt`, key: `${path}.key` }
    write(files.key, keyToPem(key), 0o600)
    write(files.certificate, pem, 0o644)
    return files
  }

  /** The list has the CA's lifetime: one that runs out makes every certificate void. */
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

/** Whole or not at all: a service may be reading it. */
function write(path: string, text: string, mode: number): void {
  const beside = `${path}.new`
  writeFileSync(beside, text, { mode })
  renameSync(beside, path)
}

function toIso(at: number): string {
  return new Date(at).toISOString()
}
