import { expect, test } from 'vitest'
import { signedHeaders } from './sigv4.ts'

// The examples of Amazon's own documentation of Signature Version 4.
const CREDENTIALS = {
  region: 'us-east-1',
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}
const AT = Date.UTC(2013, 4, 24)

test.each([
  ['/test.txt', { range: 'bytes=0-9' }, 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41'],
  ['/?lifecycle=', {}, 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
  ['/?max-keys=2&prefix=J', {}, '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
])('GET %s is signed as Amazon does', (path, headers, signature) => {
  const url = new URL(path, 'https://examplebucket.s3.amazonaws.com')
  const signed = signedHeaders({ method: 'GET', url, headers, body: new Uint8Array() }, CREDENTIALS, AT)
  expect(signed['authorization']).toContain(`Signature=${signature}`)
  expect(signed['x-amz-date']).toBe('20130524T000000Z')
})
