/* BLAKE2b-256 (RFC 7693) without a key, for the audit's chain. 64-bit words are pairs of 32: low, high. */

const IV = new Uint32Array([
	0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a, 0xade682d1,
	0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
])
const SIGMA = [
	'0123456789abcdef',
	'ea489fd61c02b753',
	'b8c052fdae367194',
	'7931dcbe265a40f8',
	'905724afe1bc683d',
	'2c6a0b834d75fe19',
	'c51fed4a0763928b',
	'db7ec13950f4862a',
	'6fe9b308c2d714a5',
	'a2847615fb9e3cd0',
].map(row => [...row].map(c => parseInt(c, 16)))

export class Blake2b {
	private h = IV.slice()
	private block = new Uint8Array(128)
	private used = 0
	private total = 0
	private v = new Uint32Array(32)
	private m = new Uint32Array(32)

	constructor() {
		this.h[0]! ^= 0x01010020
	} // 32 bytes of digest, no key, one node

	update(bytes: Uint8Array): this {
		for (let at = 0; at < bytes.length; ) {
			if (this.used === 128) {
				this.compress(false)
				this.used = 0
			}
			const n = Math.min(128 - this.used, bytes.length - at)
			this.block.set(bytes.subarray(at, at + n), this.used)
			this.used += n
			this.total += n
			at += n
		}
		return this
	}

	hex(): string {
		this.block.fill(0, this.used)
		this.compress(true)
		let out = ''
		for (let i = 0; i < 32; i++) out += ((this.h[i >> 2]! >>> (8 * (i & 3))) & 255).toString(16).padStart(2, '0')
		return out
	}

	private add(a: number, lo: number, hi: number) {
		const low = this.v[a]! + lo
		this.v[a + 1] = this.v[a + 1]! + hi + (low > 0xffffffff ? 1 : 0)
		this.v[a] = low
	}

	/* v[a] = (v[a] ^ v[b]) turned right by n. */
	private turn(a: number, b: number, n: number) {
		const lo = this.v[a]! ^ this.v[b]!,
			hi = this.v[a + 1]! ^ this.v[b + 1]!
		if (n === 32) {
			this.v[a] = hi
			this.v[a + 1] = lo
		} else if (n < 32) {
			this.v[a] = (lo >>> n) | (hi << (32 - n))
			this.v[a + 1] = (hi >>> n) | (lo << (32 - n))
		} else {
			this.v[a] = (hi >>> 31) | (lo << 1)
			this.v[a + 1] = (lo >>> 31) | (hi << 1)
		}
	}

	private mix(a: number, b: number, c: number, d: number, x: number, y: number) {
		const { v, m } = this
		this.add(a, v[b]!, v[b + 1]!)
		this.add(a, m[x]!, m[x + 1]!)
		this.turn(d, a, 32)
		this.add(c, v[d]!, v[d + 1]!)
		this.turn(b, c, 24)
		this.add(a, v[b]!, v[b + 1]!)
		this.add(a, m[y]!, m[y + 1]!)
		this.turn(d, a, 16)
		this.add(c, v[d]!, v[d + 1]!)
		this.turn(b, c, 63)
	}

	private compress(last: boolean) {
		const { v, m, h, block } = this
		v.set(h)
		v.set(IV, 16)
		v[24]! ^= this.total >>> 0
		v[25]! ^= Math.floor(this.total / 0x100000000)
		if (last) {
			v[28] = ~v[28]!
			v[29] = ~v[29]!
		}
		for (let i = 0; i < 32; i++)
			m[i] = block[4 * i]! | (block[4 * i + 1]! << 8) | (block[4 * i + 2]! << 16) | (block[4 * i + 3]! << 24)
		for (let r = 0; r < 12; r++) {
			const s = SIGMA[r % 10]!
			for (let i = 0; i < 8; i++) {
				const a = i & 3,
					t = i < 4 ? 0 : 1
				this.mix(
					2 * a,
					2 * (4 + ((a + t) & 3)),
					2 * (8 + ((a + 2 * t) & 3)),
					2 * (12 + ((a + 3 * t) & 3)),
					2 * s[2 * i]!,
					2 * s[2 * i + 1]!,
				)
			}
		}
		for (let i = 0; i < 16; i++) h[i]! ^= v[i]! ^ v[i + 16]!
	}
}

export const digest = (bytes: Uint8Array) => new Blake2b().update(bytes).hex()
