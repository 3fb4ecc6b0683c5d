import java.util.Map;
import sirdar.runner.Json;

/** JSON there and back, and what is none. Prints TAP. */
public final class JsonTest {
    private static int count;
    private static int failed;

    private static void check(String what, boolean is) {
        count++;
        failed += is ? 0 : 1;
        System.out.println((is ? "ok " : "not ok ") + count + " - " + what);
    }

    private static boolean isRefused(String text) {
        try {
            Json.read(text);
            return false;
        } catch (IllegalArgumentException e) {
            return true;
        }
    }

    public static void main(String[] args) {
        String text = "{\"a\":[1,-2,2.5,true,false,null],\"b\":{\"c\":\"x\\\"\\\\\\u00e4\\n\"},\"d\":{},\"e\":[]}";
        StringBuilder out = new StringBuilder();
        Json.write(Json.read(text), out);
        check("there and back is the same", Json.read(out.toString()).equals(Json.read(text)));
        check("an escape is a letter", ((Map<?, ?>) ((Map<?, ?>) Json.read(text)).get("b")).get("c").equals("x\"\\ä\n"));
        check("whole numbers stay whole", Json.read("9007199254740993").equals(9007199254740993L));
        for (String bad : new String[] {"", "{", "[1,]", "{\"a\" 1}", "\"a", "1 2", "tru", "\"\\u12\"", "--1", "[".repeat(100)}) {
            check("refused: " + bad.substring(0, Math.min(20, bad.length())), isRefused(bad));
        }
        System.out.println("1.." + count);
        System.exit(failed == 0 ? 0 : 1);
    }
}
