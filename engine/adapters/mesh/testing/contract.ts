// The contract of every mesh. Each adapter's test runs it.
import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import type { Mesh } from '../../../ports/mesh.ts'

export interface MeshContract {
  readonly name: string
  /** Two nodes that reach each other. */
  open(): Promise<readonly [Mesh, Mesh]>
}

const TIMEOUT_MS = 60_000
/** A timeout longer than a test may take, so that nothing in a test is caused by it. */
const FOREVER_MS = 600_000
const MEBIBYTE = 1024 * 1024
const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

class Gate {
  open = () => {}
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve
  })
}

export function meshContract({ name, open }: MeshContract): void {
  describe(`mesh: ${name}`, () => {
    let asker: Mesh
    let asked: Mesh

    beforeEach(async () => {
      const meshes = await open()
      asker = meshes[0]
      asked = meshes[1]
    })

    const ask = async (text: string, timeoutMs = TIMEOUT_MS) =>
      textOf(await asker.ask(asked.address, bytesOf(text), timeoutMs))
    /** Each node's subscriptions are known to the others once it has had an answer itself. */
    const begun = async () => {
      for (const mesh of [asker, asked])
        await expect(mesh.ask('nobody', bytesOf('?'), TIMEOUT_MS)).rejects.toThrow()
    }
    const serve = async (answer: (question: Uint8Array) => Promise<Uint8Array>) => {
      asked.serve(answer)
      await begun()
    }
    const serveBoth = async (answer: (text: string) => string | Promise<string>) => {
      for (const mesh of [asker, asked])
        mesh.serve(async (question) => bytesOf(`${mesh.address}: ${await answer(textOf(question))}`))
      await begun()
    }

    test('a question is answered by the node it is addressed to, which may be the asker', async () => {
      await serveBoth((text) => text)
      const { address } = asked
      expect(await ask('hello')).toBe(`${address}: hello`)
      expect(await ask('')).toBe(`${address}: `)
      expect(textOf(await asker.ask(asker.address, bytesOf('myself'), TIMEOUT_MS))).toContain('myself')
      expect([asker.isUp(), asked.isUp()]).toEqual([true, true])
    })

    test('an empty answer is an answer', async () => {
      await serve(async () => new Uint8Array(0))
      expect(await asker.ask(asked.address, bytesOf('?'), TIMEOUT_MS)).toHaveLength(0)
    })

    test('a slow answer delays no other, and each asker gets its own answer', async () => {
      const gate = new Gate()
      await serveBoth(async (text) => {
        if (text === 'slow') await gate.opened
        return text
      })
      const slow = ask('slow')
      const quick = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(`${i}`)))
      expect(quick).toEqual(Array.from({ length: 100 }, (_, i) => `${asked.address}: ${i}`))
      gate.open()
      expect(await slow).toBe(`${asked.address}: slow`)
    })

    test('several long answers may arrive at once', async () => {
      const sizes = [MEBIBYTE, MEBIBYTE + 1, 3 * MEBIBYTE - 7, 17 * MEBIBYTE]
      const longest = randomBytes(17 * MEBIBYTE)
      await serve(async (question) => longest.subarray(0, Number(textOf(question))))
      const answers = await Promise.all(
        sizes.map((size) => asker.ask(asked.address, bytesOf(`${size}`), TIMEOUT_MS)),
      )
      expect(answers.map(({ length }) => length)).toEqual(sizes)
      expect(answers.every((answer) => longest.subarray(0, answer.length).equals(answer))).toBe(true)
    })

    test('a question that is too long is refused before it is sent, and an answer that is too long fails for its asker', async () => {
      const lengths: number[] = []
      await serve(async ({ length }) => {
        lengths.push(length)
        return length === 1 ? new Uint8Array(LIMITS.meshAnswerBytesMax + 1) : bytesOf(`${length}`)
      })
      const tooLong = new Uint8Array(LIMITS.meshMessageBytesMax + 1)
      const failed = { code: 'NODE_FAILED', retryable: false, message: expect.stringContaining('too large') }
      await expect(asker.ask(asked.address, tooLong, TIMEOUT_MS)).rejects.toMatchObject(failed)
      await expect(ask('1')).rejects.toMatchObject(failed)
      expect(() => asker.publish('topic', tooLong)).toThrow('too large')
      const longest = new Uint8Array(LIMITS.meshMessageBytesMax)
      expect(textOf(await asker.ask(asked.address, longest, TIMEOUT_MS))).toBe(`${longest.length}`)
      expect(lengths).toEqual([1, longest.length])
    })

    test('a failed answer reports its reason, and is not retried', async () => {
      await serve(() => Promise.reject(new Error('the cellar is flooded')))
      await expect(ask('?')).rejects.toMatchObject({
        code: 'NODE_FAILED',
        retryable: false,
        message: expect.stringContaining('the cellar is flooded'),
      })
    })

    test('a question to an unknown address fails at once', async () => {
      const nobody = { code: 'NODE_ABSENT', retryable: true }
      await expect(asker.ask('nobody', bytesOf('?'), FOREVER_MS)).rejects.toMatchObject(nobody)
      await expect(ask('not serving yet', FOREVER_MS)).rejects.toMatchObject(nobody)
    })

    test('an answer that arrives too late is ignored and does not affect the next question', async () => {
      const gate = new Gate()
      await serveBoth(async (text) => {
        if (text === 'late') await gate.opened
        return text
      })
      await expect(ask('late', 50)).rejects.toMatchObject({ code: 'NODE_UNREACHABLE', retryable: true })
      gate.open()
      expect(await ask('next')).toBe(`${asked.address}: next`)
    })

    test('a closing node finishes its answers, refuses new questions, and is then absent', async () => {
      const gate = new Gate()
      await serveBoth(async (text) => {
        if (text === 'under way') await gate.opened
        return text
      })
      const underWay = ask('under way')
      await ask('arrived')
      const closed = asked.close()
      const gone = { code: 'NODE_ABSENT', retryable: true }
      await expect(ask('new', FOREVER_MS)).rejects.toMatchObject(gone)
      gate.open()
      expect(await underWay).toBe(`${asked.address}: under way`)
      await closed
      await expect(ask('gone', FOREVER_MS)).rejects.toMatchObject(gone)
    })

    test('a closing node gives up slow answers after a while and tells the askers', async () => {
      await serveBoth((text) => (text === 'never' ? new Promise<string>(() => {}) : text))
      const gone = { code: 'NODE_UNREACHABLE', retryable: true }
      const given = expect(ask('never', FOREVER_MS)).rejects.toMatchObject(gone)
      await ask('arrived')
      await asked.close()
      await given
    })

    test('a closing node does not wait for answers of others', async () => {
      await serveBoth((text) => (text === 'never' ? new Promise<string>(() => {}) : text))
      const given = expect(ask('never', FOREVER_MS)).rejects.toMatchObject({ code: 'NODE_UNREACHABLE' })
      await ask('arrived')
      await asker.close()
      await given
    })

    test('a node answers a bounded number of questions at once and accepts new ones afterwards', async () => {
      const gate = new Gate()
      await serveBoth(async (text) => {
        if (text === 'wait') await gate.opened
        return text
      })
      const waiting = Array.from({ length: LIMITS.meshQuestionsMax }, () => ask('wait'))
      await expect(ask('one more')).rejects.toMatchObject({ code: 'OVERLOADED', retryable: true })
      gate.open()
      await Promise.all(waiting)
      expect(await ask('again')).toBe(`${asked.address}: again`)
    })

    test('news reach all nodes that listen to the topic, including the sender, in order', async () => {
      const mine: string[] = []
      const theirs: string[] = []
      const elsewhere: string[] = []
      asker.subscribe('news.of-1', (news) => mine.push(textOf(news)))
      asked.subscribe('news.of-1', (news) => theirs.push(textOf(news)))
      asked.subscribe('news.of-2', (news) => elsewhere.push(textOf(news)))
      await begun()
      const told = Array.from({ length: 1_000 }, (_, i) => `${i}`)
      for (const text of told) asker.publish('news.of-1', bytesOf(text))
      await expect.poll(() => [mine.length, theirs.length]).toEqual([1_000, 1_000])
      expect({ mine, theirs, elsewhere }).toEqual({ mine: told, theirs: told, elsewhere: [] })
    })

    test('news arrive before a question that the same node asked after them', async () => {
      let heard = 0
      asked.subscribe('topic', () => heard++)
      await serve(async () => bytesOf(`${heard}`))
      const answers: Promise<string>[] = []
      for (let n = 0; n < 100; n++) {
        asker.publish('topic', bytesOf('news'))
        answers.push(ask('how many?'))
      }
      expect(await Promise.all(answers)).toEqual(Array.from({ length: 100 }, (_, n) => `${n + 1}`))
    })

    test('a listener hears nothing from before it started or after it stopped', async () => {
      const heard: string[] = []
      asker.publish('topic', bytesOf('before'))
      await begun()
      const stop = asked.subscribe('topic', (news) => heard.push(textOf(news)))
      await begun()
      asker.publish('topic', bytesOf('while'))
      await expect.poll(() => heard).toEqual(['while'])
      stop()
      asker.publish('topic', bytesOf('after'))
      await begun()
      expect(heard).toEqual(['while'])
    })

    test('two listeners of a node are independent', async () => {
      const heard: string[] = []
      const listener = (news: Uint8Array) => heard.push(textOf(news))
      const stop = asked.subscribe('topic', listener)
      asked.subscribe('topic', listener)
      await begun()
      asker.publish('topic', bytesOf('twice'))
      await expect.poll(() => heard).toEqual(['twice', 'twice'])
      stop()
      asker.publish('topic', bytesOf('once'))
      await expect.poll(() => heard.slice(2)).toEqual(['once'])
    })
  })
}
