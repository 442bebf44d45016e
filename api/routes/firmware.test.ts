import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { FirmwareId } from '../../schemas/ids.ts'
import { emptyType } from '../testing/device-type.ts'
import { firmwareForm, MULTIPART, multipart, part, type TestPart } from '../testing/multipart.ts'
import { type HarnessOptions, openHarness } from '../testing/rest.ts'

const PATH = '/api/v1/ota/firmware'
const FIELDS = { version: '1.0.0', device_type: 'simulator' }
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function asAdmin(options: HarnessOptions = {}) {
  const harness = openHarness(options)
  const { token, user } = await harness.login('admin')
  const post = (body: Uint8Array, headers: Readonly<Record<string, string>> = {}) =>
    harness.request(`POST ${PATH}`, { token, body, headers: { ...MULTIPART, ...headers } })
  const upload = (fields: Readonly<Record<string, string>> = {}, file: Partial<TestPart> = {}) =>
    post(firmwareForm({ ...FIELDS, ...fields }, file))
  const send = (line: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
    harness.request(line, { token, body, headers })
  const images = async () => (await harness.engine.blobs.list({ prefix: '', limit: 100 })).length
  return { ...harness, token, user, post, upload, send, images }
}

describe('an upload', () => {
  test('becomes a record', async () => {
    const { upload, user, send } = await asAdmin()
    const made = await upload({ changelog: 'first', min_from_version: '0.9', from_versions: '0.9, 0.9.1' })
    const { body } = made
    expect(made).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `${PATH}/${body.firmware_id}` },
      body: {
        ...FIELDS,
        changelog: 'first',
        filename: 'image.bin',
        size_bytes: 9,
        content_type: 'application/x-image',
        sha256: sha256('the image'),
        signature: null,
        signature_alg: null,
        signature_verified: null,
        min_from_version: '0.9',
        from_versions: ['0.9', '0.9.1'],
        reports_as: '1.0.0',
        status: 'available',
        storage: 'stored',
        deployments: { active: 0, total: 0 },
        uploaded_by: user.id,
        etag: '1',
      },
    })
    expect(body.firmware_id).toMatch(/^fw_[0-9a-z]{26}$/)
    expect((await send(`GET ${PATH}/${body.firmware_id}`)).body).toEqual(body)
  })

  test('sent again is answered with the record, but refused if its bytes differ', async () => {
    const { upload, images } = await asAdmin()
    const first = await upload()
    const again = await upload({ changelog: 'other' })
    expect([again.status, again.body]).toEqual([200, first.body])
    const other = await upload({}, { value: 'other' })
    expect(other).toMatchObject({
      status: 409,
      body: { code: 'ALREADY_EXISTS', firmware_id: first.body.firmware_id, sha256: sha256('the image') },
    })
    expect(await images()).toBe(1)
  })

  test('takes its parts in any order, and the first file of the known names', async () => {
    const { post } = await asAdmin()
    const file = (name: string, value: string) => ({ name, value, filename: 'x' })
    const { status, body } = await post(
      multipart([
        file('picture', 'not this'),
        file('binary', 'this'),
        file('file', 'not this either'),
        { name: 'unknown', value: 'x' },
        { name: '__proto__', value: 'x' },
        { name: 'version', value: '1.0.0' },
        { name: 'device_type', value: 'simulator' },
      ]),
    )
    expect([status, body.sha256, body.content_type]).toEqual([
      ...[201, sha256('this')],
      'application/octet-stream',
    ])
  })

  test('may name its file without a filename, and with a type that is none', async () => {
    const { post } = await asAdmin()
    const { body } = await post(
      multipart([
        { name: 'firmware', value: 'x', type: 'no type' },
        { name: 'version', value: '1' },
        { name: 'device_type', value: 'simulator' },
      ]),
    )
    expect(body).toMatchObject({ filename: 'firmware.bin', content_type: 'application/octet-stream' })
  })

  test.each(['../../etc/passwd', '..\\\\..\\\\passwd', '/etc/passwd'])(
    'named %s keeps the last part as a name',
    async (filename) => {
      const { upload } = await asAdmin()
      expect((await upload({}, { filename })).body.filename).toBe('passwd')
    },
  )

  test.each([
    [{ version: '' }, '/version'],
    [{ version: 'a b' }, '/version'],
    [{ version: '-1' }, '/version'],
    [{ version: 'x'.repeat(129) }, '/version'],
    [{ device_type: 'unknown' }, '/device_type'],
    [{ sha256: 'abc' }, '/sha256'],
    [{ signature: '!' }, '/signature'],
    [{ signature_alg: 'md5' }, '/signature_alg'],
    [{ from_versions: '1,,2' }, '/from_versions'],
    [{ reports_as: ' ' }, '/reports_as'],
    [{ content_type: 'x' }, '/content_type'],
    [{ changelog: 'x'.repeat(65_537) }, '/changelog'],
  ])('with %j is refused for %s, and nothing is kept', async (fields, path) => {
    const { upload, images } = await asAdmin()
    const { status, body } = await upload(fields)
    expect([status, body.code, body.errors[0].path]).toEqual([422, 'VALIDATION_FAILED', path])
    expect(await images()).toBe(0)
  })

  test('an empty file, none at all, and too many parts are refused', async () => {
    const { upload, post, images } = await asAdmin()
    expect((await upload({}, { value: '' })).body.errors[0].path).toBe('/file')
    const bare = Object.entries(FIELDS).map(([name, value]) => ({ name, value }))
    expect((await post(multipart(bare))).body.errors[0]).toMatchObject({ path: '/file', code: 'REQUIRED' })
    const many = await post(multipart(Array.from({ length: 33 }, (_, i) => ({ name: `f${i}`, value: 'x' }))))
    expect(many).toMatchObject({ status: 422, body: { detail: 'the form has more than 32 parts' } })
    expect(await images()).toBe(0)
  })

  test.each([
    ['no form at all', Buffer.from('hello')],
    ['an end without its last boundary', part({ name: 'version', value: '1' })],
    ['a file that is cut off', firmwareForm(FIELDS).subarray(0, -20)],
    ['a cut header', Buffer.from('--b0undary\r\nContent-Dispos')],
    ['nothing', Buffer.alloc(1)],
  ])('that is %s is 400, and nothing is kept', async (_, body) => {
    const { post, images } = await asAdmin()
    expect((await post(body)).body.code).toBe('BAD_REQUEST')
    expect(await images()).toBe(0)
  })

  test('another media type is 415, and a form without a boundary 400', async () => {
    const { send, post } = await asAdmin()
    expect((await send(`POST ${PATH}`, {}, { 'content-type': 'application/json' })).status).toBe(415)
    expect((await post(Buffer.from('x'), { 'content-type': 'multipart/form-data' })).status).toBe(400)
  })

  test('that does not match its checksum is refused, and nothing is stored', async () => {
    const { upload, post, images } = await asAdmin()
    const right = sha256('the image')
    const digest = (bytes: string) =>
      `sha-512=:AA==:, sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`
    expect(await upload({ sha256: sha256('other') })).toMatchObject({
      status: 422,
      body: { code: 'CHECKSUM_MISMATCH', expected: sha256('other'), actual: right },
    })
    const other = await post(firmwareForm(FIELDS), { 'repr-digest': digest('other') })
    expect(other.body.code).toBe('CHECKSUM_MISMATCH')
    expect(await images()).toBe(0)
    const form = firmwareForm({ ...FIELDS, sha256: right.toUpperCase() })
    expect((await post(form, { 'repr-digest': digest('the image') })).status).toBe(201)
  })

  test('is bounded by its type, whether that comes before or after the file', async () => {
    const types = new Map([
      ['tiny', { ...emptyType('tiny'), firmwareBytesMax: 8 }],
      ['small', { ...emptyType('small'), firmwareBytesMax: 9 }],
    ])
    const { upload, post, images } = await asAdmin({ customTypes: types })
    expect(await upload({ device_type: 'tiny' })).toMatchObject({
      status: 413,
      body: { code: 'PAYLOAD_TOO_LARGE', limit: 8, actual: 9 },
    })
    const after = [
      { name: 'file', value: 'the image', filename: 'x' },
      { name: 'version', value: '1.0.0' },
      { name: 'device_type', value: 'tiny' },
    ]
    expect((await post(multipart(after))).status).toBe(413)
    expect(await images()).toBe(0)
    expect((await upload({ device_type: 'small' })).status).toBe(201)
  })

  test('whose form turns out to be wrong when its file is already stored is removed', async () => {
    const { app, token, images } = await asAdmin()
    const stored = new Promise<void>((resolve) => {
      const check = async () => ((await images()) > 0 ? resolve() : void setImmediate(check))
      void check()
    })
    async function* form() {
      yield part({ name: 'file', value: 'the image', filename: 'x' })
      // The file ends where the next part begins.
      yield Buffer.from('--b0undary\r\n')
      await stored
      yield Buffer.from('Content-Disposition: form-data; name="version"\r\n\r\n')
      yield Buffer.alloc(65_537, 'x')
      yield Buffer.from('\r\n--b0undary--\r\n')
    }
    const { statusCode } = await app.inject({
      method: 'POST',
      url: PATH,
      payload: Readable.from(form()),
      headers: { ...MULTIPART, authorization: `Bearer ${token}` },
    })
    expect([statusCode, await images()]).toEqual([422, 0])
  })

  test('is 507 if its disk or bucket has no room, and says that the limit is not the cause', async () => {
    const { upload, engine, images } = await asAdmin()
    engine.blobs.put = async () => ({ kind: 'full' })
    const refused = await upload()
    expect(refused).toMatchObject({ status: 507, body: { code: 'STORAGE_FULL', limit: 2 ** 30, used: 0 } })
    expect(refused.body.detail).toContain('have not reached `limit`')
    expect(await images()).toBe(0)
  })
})

describe('signatures', () => {
  const image = 'the image'
  const ed = generateKeyPairSync('ed25519')
  const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pss = { padding: 6, saltLength: 32 }
  const signatures = {
    ed25519: sign(null, Buffer.from(sha256(image), 'hex'), ed.privateKey),
    'ecdsa-p256-sha256': sign('sha256', Buffer.from(image), ec.privateKey),
    'rsa-pss-sha256': sign('sha256', Buffer.from(image), { key: rsa.privateKey, ...pss }),
  }
  const ota = { trustedKeys: [ed.publicKey, ec.publicKey, rsa.publicKey] }

  test.each(Object.entries(signatures))(
    '%s: a trusted one is taken, any other refused',
    async (alg, value) => {
      const { upload, images } = await asAdmin({ ota })
      const signed = { signature: value.toString('base64'), signature_alg: alg }
      const other = await upload(signed, { value: 'other image' })
      expect([other.status, other.body.code, await images()]).toEqual([422, 'SIGNATURE_INVALID', 0])
      const made = await upload(signed)
      expect(made).toMatchObject({ status: 201, body: { ...signed, signature_verified: true } })
    },
  )

  test('an upload without one is refused where keys are set', async () => {
    const { upload, images } = await asAdmin({ ota })
    const { status, body } = await upload()
    expect([status, body.code, await images()]).toEqual([422, 'SIGNATURE_REQUIRED', 0])
    const wrongAlg = { signature: signatures.ed25519.toString('base64'), signature_alg: 'rsa-pss-sha256' }
    expect((await upload(wrongAlg)).body.code).toBe('SIGNATURE_INVALID')
  })

  test('one that the service cannot check is passed on to devices', async () => {
    const { upload } = await asAdmin()
    const { body } = await upload({ signature: 'AAAA' })
    expect(body).toMatchObject({ signature: 'AAAA', signature_alg: 'ed25519', signature_verified: null })
  })
})

describe('records', () => {
  test('are listed with filters, in order and in pages', async () => {
    const { upload, send } = await asAdmin()
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) await upload({ version }, { value: version })
    await upload({ version: '2.0.0', device_type: 'gateway' }, { value: 'gateway' })
    const list = async (query: string) => {
      const { body } = await send(`GET ${PATH}?${query}`)
      return [body.total, body.data.map((one: { version: string }) => one.version)]
    }
    expect(await list('sort=version')).toEqual([4, ['1.0.0', '2.0.0', '2.0.0', '3.0.0']])
    expect(await list('device_type=simulator&sort=version:DESC')).toEqual([3, ['3.0.0', '2.0.0', '1.0.0']])
    expect(await list('version=2.0.0&device_type=gateway')).toEqual([1, ['2.0.0']])
    expect(await list(`sha256=${sha256('3.0.0').toUpperCase()}`)).toEqual([1, ['3.0.0']])
    expect(await list('status=yanked')).toEqual([0, []])
    expect(await list('sort=version&per_page=3&page=2')).toEqual([4, ['3.0.0']])
    expect((await send(`GET ${PATH}?sort=etag`)).status).toBe(422)
  })

  test('are deprecated, made available again, and yanked for good', async () => {
    const { upload, send } = await asAdmin()
    const { firmware_id: id } = (await upload()).body
    const patch = (body: object, headers = {}) => send(`PATCH ${PATH}/${id}`, body, headers)
    expect((await patch({ status: 'deprecated' }, { 'if-match': '"1"' })).body).toMatchObject({
      status: 'deprecated',
      etag: '2',
    })
    expect(await patch({ status: 'available' }, { 'if-match': '"1"' })).toMatchObject({
      status: 412,
      body: { code: 'PRECONDITION_FAILED' },
    })
    expect((await patch({ status: 'available', changelog: 'more' })).headers['etag']).toBe('"3"')
    expect(await patch({ version: '2' })).toMatchObject({
      ...{ status: 422, body: { code: 'IMMUTABLE_FIELD', errors: [{ path: '/version' }] } },
    })
    expect((await patch({ status: 'yanked' })).body.status).toBe('yanked')
    expect(await patch({ status: 'available' })).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE_TRANSITION', from: 'yanked', to: 'available', allowed: [] },
    })
    expect((await send(`GET ${PATH}/${id}`, undefined, { 'if-none-match': '"4"' })).status).toBe(304)
  })

  test('are deleted with their image', async () => {
    const { upload, send, images } = await asAdmin()
    const { firmware_id: id } = (await upload()).body
    expect((await send(`DELETE ${PATH}/${id}`, undefined, { 'if-match': '"2"' })).status).toBe(412)
    expect((await send(`DELETE ${PATH}/${id}`)).status).toBe(204)
    expect([(await send(`GET ${PATH}/${id}`)).status, await images()]).toEqual([404, 0])
    expect((await send(`DELETE ${PATH}/${id}`)).status).toBe(404)
    expect((await upload({}, { value: 'other' })).status).toBe(201)
  })

  test('say whether their image exists', async () => {
    const { upload, send, engine } = await asAdmin()
    const { firmware_id: id } = (await upload()).body
    for (const { key } of await engine.blobs.list({ prefix: '', limit: 1 })) await engine.blobs.delete(key)
    expect((await send(`GET ${PATH}/${id}`)).body.storage).toBe('missing')
  })

  test('changes are in the audit', async () => {
    const { upload, send, engine } = await asAdmin()
    const { firmware_id: id } = (await upload()).body
    await send(`PATCH ${PATH}/${id}`, { status: 'yanked' })
    expect(engine.recorded.slice(-2)).toMatchObject([
      {
        action: 'uploadFirmware',
        target: `ota/firmware/${id}`,
        outcome: 'success',
        detail: { version: '1.0.0', device_type: 'simulator', sha256: sha256('the image') },
      },
      { action: 'editFirmware', target: `ota/firmware/${id}`, detail: { fields: ['status'] } },
    ])
  })
})

test('the keys of manifests are public', async () => {
  const { request } = openHarness()
  const { status, body } = await request('GET /.well-known/ota-keys.json')
  expect([status, body.keys[0].kid]).toEqual([200, 'test'])
})

describe('the file of a firmware', () => {
  async function openImage() {
    const all = await asAdmin()
    const { body } = await all.upload()
    const get = (headers: Readonly<Record<string, string>> = {}) =>
      all.send(`GET ${PATH}/${body.firmware_id}/file`, undefined, headers)
    return { ...all, get, id: body.firmware_id as string }
  }

  test('the image is downloaded whole or in part, by operators too', async () => {
    const { get, login, request, id } = await openImage()
    const whole = await get()
    expect([whole.status, whole.text]).toEqual([200, 'the image'])
    expect(whole.headers).toMatchObject({
      'content-type': 'application/x-image',
      'content-length': '9',
      'accept-ranges': 'bytes',
      etag: `"sha256-${sha256('the image')}"`,
      'cache-control': 'private, no-cache, no-transform',
      'content-disposition': `attachment; filename="image.bin"; filename*=UTF-8''image.bin`,
    })
    const part = await get({ range: 'bytes=4-6' })
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, 'ima', 'bytes 4-6/9'])
    expect((await get({ range: 'bytes=0-1,3-4' })).text).toBe('the image')
    const beyond = await get({ range: 'bytes=9-' })
    expect([beyond.status, beyond.body.code]).toEqual([416, 'RANGE_NOT_SATISFIABLE'])
    expect((await get({ 'if-none-match': String(whole.headers['etag']) })).status).toBe(304)
    const { token } = await login('operator')
    expect((await request(`GET ${PATH}/${id}/file`, { token })).text).toBe('the image')
  })

  test('the image of a yanked firmware can still be examined', async () => {
    const { get, send, id } = await openImage()
    await send(`PATCH ${PATH}/${id}`, { status: 'yanked' })
    expect((await get()).text).toBe('the image')
  })

  test('an image that is missing is not sent', async () => {
    const { get, engine, id } = await openImage()
    const { imageKey = '' } = engine.firmware.get(FirmwareId(id)) ?? {}
    await engine.blobs.delete(imageKey)
    const missing = await get()
    expect([missing.status, missing.body.code]).toEqual([503, 'DEPENDENCY_UNAVAILABLE'])
  })
})
