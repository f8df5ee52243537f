// One round: the first word becomes the sum of both; the second has its bits rotated, and is mixed with that sum.
fn threefry_round(x: vec2<u32>, by: u32) -> vec2<u32> {
    let sum = x.x + x.y;
    return vec2<u32>(sum, ((x.y << by) | (x.y >> (32u - by))) ^ sum);
}

// Threefry-2x32 with 20 rounds, by Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (2011). After every fourth round, the next two of three key words are added, and the number of the step.
fn threefry(key: vec2<u32>, counter: vec2<u32>) -> vec2<u32> {
    var keys = vec3<u32>(key, key.x ^ key.y ^ 0x1bd11bdau);
    var x = counter + key;
    for (var step = 1u; step <= 5u; step += 1u) {
        let by = select(vec4<u32>(17u, 29u, 16u, 24u), vec4<u32>(13u, 15u, 26u, 6u), (step & 1u) == 1u);
        x = threefry_round(threefry_round(threefry_round(threefry_round(x, by.x), by.y), by.z), by.w);
        keys = keys.yzx;
        x += vec2<u32>(keys.x, keys.y + step);
    }
    return x;
}

// A whole number of 2^-24 in [0, 1): as many digits as a float32 has, so that nothing is rounded.
fn unit_of(word: u32) -> f32 {
    return f32(word >> 8u) * 0x1p-24;
}

// A number of [low, high). A sum that rounds up to `high` becomes `low`. A compiler could take the product and the sum
// in one step, which rounds once, and other GPUs in two. So the bits of the product go through a parameter that is 0,
// which the compiler cannot know.
fn uniform_of(u: f32, low: f32, width: f32, high: f32, nothing: u32) -> f32 {
    let value = low + bitcast<f32>(bitcast<u32>(u * width) ^ nothing);
    return select(value, low, value >= high);
}

// A standard normal number, by Box and Muller: a random point of the plane has the angle of a random turn and the
// distance sqrt(-2 log u). The u in (0, 1] keeps the logarithm finite, and the result within 5.8. Both coordinates are
// normal, and two neighbours share a point: the first one takes the cosine and the second one the sine, which is the
// cosine of a quarter turn less. The turn has 24 bits too, and is counted from half a turn below 0.
fn normal_of(words: vec2<u32>, coordinate: u32) -> f32 {
    let distance = sqrt_of(-2.0 * log_of(1.0 - unit_of(words.x)));
    let turn = (words.y & 0xffffff00u) + 0x80000000u;
    return distance * cos_of_turn(turn - coordinate * 0x40000000u);
}
