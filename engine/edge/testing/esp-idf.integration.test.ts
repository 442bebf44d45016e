// The sample for ESP-IDF, as far as a compiler of this machine can tell: there is no ESP-IDF here.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SAMPLE = fileURLToPath(new URL('../examples/esp-idf/main/main.c', import.meta.url))
const DECLARATIONS = fileURLToPath(new URL('esp-idf.h', import.meta.url))
const HAS_COMPILER = spawnSync('gcc', ['--version']).status === 0

test.skipIf(!HAS_COMPILER)('the sample for ESP-IDF has no error and no warning', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-esp-idf-'))
  try {
    for (const [, header = ''] of readFileSync(SAMPLE, 'utf8').matchAll(/#include "(.+)"/g)) {
      mkdirSync(dirname(join(folder, header)), { recursive: true })
      writeFileSync(join(folder, header), `#pragma once\n#include "${DECLARATIONS}"\n`)
    }
    // Each of the headers has the declarations of all of them, once.
    const flags = ['-fsyntax-only', '-std=gnu17', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror']
    const { status, stderr } = spawnSync('gcc', [...flags, '-I', folder, SAMPLE], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
