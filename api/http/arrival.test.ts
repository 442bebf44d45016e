// How long a body may take to arrive.
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { realSchedule } from '../../engine/index.ts'
import { API_LIMITS } from '../limits.ts'
import { httpServers } from '../testing/http-server.ts'

const openServer = httpServers()

async function start() {
  const looks: (() => void)[] = []
  const { port, engine } = await openServer({
    schedule: {
      ...realSchedule,
      after(ms, run) {
        if (ms !== API_LIMITS.requestTimeoutMs / 10) return realSchedule.after(ms, run)
        looks.push(run)
        return () => undefined
      },
    },
  })
  const socket = connect(port, '127.0.0.1')
  let heard = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    heard += text
  })
  return { socket, looks, heard: () => heard, engine }
}

const HEAD = 'POST /api/v1/auth/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
const BODY = '{"email":"a@example.com","password":"a-long-password-7","name":"a","role":"admin"}'

test('a body that does not arrive is answered 408 after a while, and not before', async () => {
  const { socket, looks, heard } = await start()
  socket.write(`${HEAD}Content-Length: ${BODY.length}\r\n\r\n{`)
  await expect.poll(() => looks.length).toBe(1)
  for (let i = 0; i < 10; i++) looks.pop()?.()
  expect([heard(), looks.length]).toEqual(['', 1])
  looks.pop()?.()
  await expect.poll(heard).toContain('HTTP/1.1 408')
  expect(looks).toEqual([])
  socket.destroy()
})

test('a body that has arrived has no time limit any more, however long its answer or the next request takes', async () => {
  const { socket, looks, heard } = await start()
  socket.write(`${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`)
  await expect.poll(heard).toContain('HTTP/1.1 201')
  expect(looks.length).toBe(1)
  looks.pop()?.()
  expect(looks).toEqual([])
  socket.destroy()
})

test('the body of a refused request has a time limit until it has arrived', async () => {
  const { socket, looks, heard } = await start()
  socket.write(`${HEAD.replace('register', 'nothing')}Content-Length: ${BODY.length}\r\n\r\n{`)
  await expect.poll(() => looks.length).toBe(1)
  for (let i = 0; i < 11; i++) looks.pop()?.()
  await expect.poll(heard).toContain('HTTP/1.1 408')
  socket.destroy()
})
