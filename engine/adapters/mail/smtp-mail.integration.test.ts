// Mail to several people, some of whom the server refuses, and to a server that never comes to an end.
import { type AddressInfo, createServer } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterEach, expect, test } from 'vitest'
import { SmtpMail } from './smtp-mail.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** A mail server that answers some recipients with these codes, and takes mail for all others. */
async function open(codes: Record<string, number>) {
  const received: string[][] = []
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo: ({ address }, _, done) => {
      const responseCode = codes[address]
      done(responseCode === undefined ? null : Object.assign(new Error('no'), { responseCode }))
    },
    onData(stream, { envelope }, done) {
      received.push(envelope.rcptTo.map(({ address }) => address))
      stream.resume().on('end', () => done())
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => server.close(() => undefined))
  // It listens on TCP.
  const { port } = server.server.address() as AddressInfo
  const mail = new SmtpMail({ url: `smtp://127.0.0.1:${port}`, from: 'Fleet <fleet@example.com>' })
  ends.push(() => mail.close())
  const send = (messageId = 'm1', to: readonly string[] = ALL) =>
    mail.send({ messageId, to, subject: 'offline', text: 'robot-7', html: '<p>robot-7</p>' })
  return { codes, received, send }
}

const ALL = ['a@example.com', 'b@example.com', 'c@example.com']

test('mail that the server takes for everybody is sent, each time', async () => {
  const { send, received } = await open({})
  expect(await send()).toMatchObject({ kind: 'answered', status: 200 })
  expect(await send()).toMatchObject({ kind: 'answered', status: 200 })
  expect(received).toEqual([ALL, ALL])
})

test('mail that the server refuses for one of several will not pass', async () => {
  const { send } = await open({ 'b@example.com': 550 })
  expect(await send()).toEqual({ kind: 'partial', mayPass: false })
})

test('mail that the server does not take for one of several now is sent again, to this one only', async () => {
  const { send, received, codes } = await open({ 'b@example.com': 550, 'c@example.com': 450 })
  expect(await send()).toEqual({ kind: 'partial', mayPass: true })
  expect(await send()).toEqual({ kind: 'partial', mayPass: true })
  delete codes['c@example.com']
  expect(await send()).toEqual({ kind: 'partial', mayPass: false })
  delete codes['b@example.com']
  expect(await send()).toMatchObject({ kind: 'answered', status: 200 })
  expect(received).toEqual([['a@example.com'], ['c@example.com'], ['b@example.com']])
  await send('m2')
  expect(received.at(-1)).toEqual(ALL)
})

test('a domain in another spelling is the same domain', async () => {
  const { send, received } = await open({ 'full@example.com': 452 })
  const to = ['a@Example.COM', 'b@exämple.com', 'full@example.com']
  expect(await send('m1', to)).toEqual({ kind: 'partial', mayPass: true })
  await send('m1', to)
  expect(received).toEqual([['a@example.com', 'b@exämple.com']])
})

test('mail to a server that keeps talking and never takes it has failed', async () => {
  const server = createServer((socket) => {
    const talk = setInterval(() => socket.write('250-one moment\r\n'), 20)
    socket.on('error', () => undefined).on('close', () => clearInterval(talk))
    socket.write('220 mail.example.com\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => server.close())
  // It listens on TCP.
  const { port } = server.address() as AddressInfo
  const mail = new SmtpMail({ url: `smtp://127.0.0.1:${port}`, from: 'fleet@example.com', sendMs: 300 })
  const sent = mail.send({ messageId: 'm1', to: ALL, subject: 'offline', text: 'robot-7', html: '' })
  expect(await sent).toEqual({ kind: 'failed', code: 'TIMEOUT' })
})
