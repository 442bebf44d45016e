// Signatures of requests to an S3 API (AWS Signature Version 4): who asks, when, for what, and with which content.
import { createHash, createHmac } from 'node:crypto'

export interface S3Credentials {
  readonly region: string
  readonly accessKey: string
  readonly secretKey: string
}

export interface UnsignedRequest {
  readonly method: string
  readonly url: URL
  /** In lower case; those that are to be signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** The headers of the request, with those that sign it. `at` is Unix time in milliseconds. */
export function signedHeaders(
  { method, url, headers, body }: UnsignedRequest,
  { region, accessKey, secretKey }: S3Credentials,
  at: number,
): Readonly<Record<string, string>> {
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const date = time.slice(0, 8)
  const bodyHash = sha256(body)
  const all = { ...headers, host: url.host, 'x-amz-content-sha256': bodyHash, 'x-amz-date': time }
  const named = Object.entries(all).sort(byName)
  const names = named.map(([name]) => name).join(';')
  const request = [
    method,
    url.pathname,
    [...url.searchParams]
      .map(([name, value]) => [encoded(name), encoded(value)] as const)
      .sort(byName)
      .map(([name, value]) => `${name}=${value}`)
      .join('&'),
    ...named.map(([name, value]) => `${name}:${value.trim()}`),
    '',
    names,
    bodyHash,
  ].join('\n')
  const scope = `${date}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')
  const key = [region, 's3', 'aws4_request'].reduce(hmac, hmac(`AWS4${secretKey}`, date))
  const signature = createHmac('sha256', key).update(text).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return { ...all, authorization }
}

/** As the signature's rules say, which encode more than `encodeURIComponent` does. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]) => (a < b ? -1 : 1)
const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
