// The files of certificate, key, CA and revocation list. They are read at start and whenever one of them changes. If the
// new files are invalid, a warning is logged and the previous ones stay in use.
import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync, unwatchFile, watchFile } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { Fault } from '../../../engine/ports/fault.ts'
import type { Logger } from '../../logger.ts'
import { asPem, revokedSerials, toSerial } from './revoked-serials.ts'

export interface TlsPaths {
  readonly cert: string
  readonly key: string
  /** If set, devices may authenticate with certificates of this CA instead of tokens. */
  readonly clientCa: string | undefined
  /** The revocation list of the client CA. */
  readonly crl: string | undefined
}

interface Contents {
  readonly context: SecureContextOptions
  readonly revoked: ReadonlySet<string>
}

const POLL_EVERY_MS = 1_000

export class TlsFiles {
  readonly #paths: TlsPaths
  readonly #logger: Pick<Logger, 'info' | 'warn'>
  readonly #listeners: (() => void)[] = []
  #contents: Contents

  /** Throws a `Fault` that names the invalid file. */
  constructor(paths: TlsPaths, logger: Pick<Logger, 'info' | 'warn'>) {
    this.#paths = paths
    this.#logger = logger
    this.#contents = read(paths)
    this.#warnOfPermissions()
    // Polls, because certificates are often symbolic links in folders that are replaced as a whole, which watching misses.
    for (const path of this.#watchedPaths())
      watchFile(path, { interval: POLL_EVERY_MS, persistent: false }, this.#reload)
  }

  context(): SecureContextOptions {
    return this.#contents.context
  }

  isRevoked(serial: string): boolean {
    return this.#contents.revoked.has(toSerial(serial))
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  close(): void {
    for (const path of this.#watchedPaths()) unwatchFile(path, this.#reload)
  }

  #watchedPaths(): readonly string[] {
    const { cert, key, clientCa, crl } = this.#paths
    return [cert, key, clientCa, crl].filter((path) => path !== undefined)
  }

  #warnOfPermissions(): void {
    const { key } = this.#paths
    if ((statSync(key).mode & 0o007) === 0) return
    this.#logger.warn(
      { path: key },
      'every user of this machine can use the TLS key: take the rights of others away with chmod o-rwx',
    )
  }

  readonly #reload = (): void => {
    try {
      this.#contents = read(this.#paths)
    } catch (err) {
      // The certificate may have been written before its key. The next change loads both.
      this.#logger.warn(
        { err },
        'changed TLS files are invalid; the previous ones stay in use until the files are fixed',
      )
      return
    }
    this.#warnOfPermissions()
    this.#logger.info({ revoked: this.#contents.revoked.size }, 'TLS files were reloaded')
    for (const listener of this.#listeners) listener()
  }
}

function read({ cert, key, clientCa, crl }: TlsPaths): Contents {
  const list = crl === undefined ? undefined : readList(crl)
  const context: SecureContextOptions = {
    cert: readOne('FLEET_TLS_CERT', cert),
    key: readOne('FLEET_TLS_KEY', key),
    ...(clientCa === undefined ? {} : { ca: readAuthorities(clientCa) }),
    ...(list === undefined ? {} : { crl: list.pem }),
  }
  try {
    createSecureContext(context)
  } catch (cause) {
    throw wrong(
      `FLEET_TLS_CERT and FLEET_TLS_KEY: ${cert} and ${key} are not a certificate and its private key`,
      cause,
    )
  }
  return { context, revoked: list?.revoked ?? new Set() }
}

function readOne(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw wrong(`${name}: ${path} cannot be read`, cause)
  }
}

/** Node's TLS passes over what it cannot read here, and then refuses the devices of the authorities that are missing. */
function readAuthorities(path: string): Buffer {
  const content = readOne('FLEET_TLS_CLIENT_CA', path)
  const text = content.toString('latin1')
  const count = (mark: string) => text.split(mark).length - 1
  try {
    if (count('-----BEGIN ') !== count('-----END ')) throw new Error('the file is cut off')
    new X509Certificate(content)
  } catch (cause) {
    throw wrong(`FLEET_TLS_CLIENT_CA: ${path} has no certificates in PEM, or is incomplete`, cause)
  }
  return content
}

/** Read once, so that TLS and the broker use the same list. */
function readList(path: string): { readonly pem: Buffer; readonly revoked: ReadonlySet<string> } {
  try {
    const content = readOne('FLEET_TLS_CRL', path)
    return { pem: asPem(content), revoked: revokedSerials(content) }
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw wrong(`FLEET_TLS_CRL: ${path} is not a certificate revocation list`, cause)
  }
}

function wrong(message: string, cause: unknown): Fault {
  return new Fault('TLS_FILES_WRONG', { retryable: false, message, cause })
}
