// For tests: an update that SWUpdate takes: a cpio archive with a description, a signature of it, and one file.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The hardware that the update says it is for. */
export const HARDWARE = 'board:1.0'

/** Makes a key and a certificate in the folder, by which updates are signed. Returns the path of the certificate. */
export function makeSigner(folder: string): string {
  const certificate = join(folder, 'signer.pem')
  const about = ['-subj', '/CN=test', '-addext', 'extendedKeyUsage=emailProtection']
  const files = ['-keyout', join(folder, 'signer.key'), '-out', certificate]
  const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...kind, ...about, ...files], { stdio: 'pipe' })
  return certificate
}

/** An update that writes `content` to the file `path`. */
export function makeUpdate(folder: string, { path, content }: { path: string; content: string }): Buffer {
  const sha256 = createHash('sha256').update(content).digest('hex')
  const description = join(folder, 'sw-description')
  const signature = join(folder, 'sw-description.sig')
  writeFileSync(
    description,
    `software = { version = "2.0"; hardware-compatibility: [ "1.0" ]; files: ( { filename = "payload"; path = "${path}"; sha256 = "${sha256}"; } ); };\n`,
  )
  const signer = ['-signer', join(folder, 'signer.pem'), '-inkey', join(folder, 'signer.key')]
  const form = ['-outform', 'DER', '-nosmimecap', '-binary']
  execFileSync('openssl', ['cms', '-sign', '-in', description, '-out', signature, ...signer, ...form], {
    stdio: 'pipe',
  })
  return Buffer.concat([
    entry('sw-description', readFileSync(description)),
    entry('sw-description.sig', readFileSync(signature)),
    entry('payload', Buffer.from(content)),
    entry('TRAILER!!!', Buffer.alloc(0)),
  ])
}

/** An entry in the format "crc" of cpio: a head of hexadecimal numbers, the name and the content, each filled up to four bytes. */
function entry(name: string, content: Buffer): Buffer {
  const sum = content.reduce((total, byte) => (total + byte) >>> 0, 0)
  const isLast = name === 'TRAILER!!!'
  const [inode, mode, uid, gid, links, time] = [isLast ? 0 : 1, isLast ? 0 : 0o100644, 0, 0, 1, 0]
  const numbers = [inode, mode, uid, gid, links, time, content.length, 0, 0, 0, 0, name.length + 1, sum]
  const head = `070702${numbers.map((number) => number.toString(16).padStart(8, '0')).join('')}${name}\0`
  return Buffer.concat([filled(Buffer.from(head)), filled(content)])
}

const filled = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
