// Mail to several people, some of whom the server refuses.
import { type AddressInfo, createServer } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterEach, expect, test } from 'vitest'
import { SmtpMail } from './smtp-mail.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** A server that answers some recipients with these codes, and takes mail for all others. */
async function send(to: readonly string[], codes: Readonly<Record<string, number>>) {
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo: ({ address }, _, done) => {
      const responseCode = codes[address]
      done(responseCode === undefined ? null : Object.assign(new Error('no'), { responseCode }))
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => server.close(() => undefined))
  const { port } = server.server.address() as AddressInfo
  const mail = new SmtpMail({ url: `smtp://127.0.0.1:${port}`, from: 'fleet@example.com' })
  ends.push(() => mail.close())
  return await mail.send({ messageId: 'm1', to, subject: 'offline', text: 'robot-7', html: '<p>robot-7</p>' })
}

const ALL = ['a@example.com', 'b@example.com', 'c@example.com']

test('mail that the server takes for everybody is sent', async () => {
  expect(await send(ALL, {})).toMatchObject({ kind: 'answered', status: 200 })
})

test('mail that the server refuses for one of several has failed for good', async () => {
  expect(await send(ALL, { 'b@example.com': 550 })).toMatchObject({ kind: 'answered', status: 400 })
})

test('mail that the server does not take for one of several now is sent again', async () => {
  const codes = { 'b@example.com': 550, 'c@example.com': 450 }
  expect(await send(ALL, codes)).toEqual({ kind: 'failed', code: 'SMTP' })
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
